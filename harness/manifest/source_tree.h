// What an arm is built from, as one digest: SHA-256 over "mode blob path" lines of the files git
// tracks below the project's root, as they are in the working tree (changes included) or in a
// revision; of declared paths also those that git does not track, unless it ignores them and they
// are not named themselves. Left out by default: manifests/ results/ reports/, and documents (*.md)
// everywhere, so committing a lock or editing a README changes nothing. Without git or a work tree
// the answer says so and the check is skipped with a note: executables are bound by hash at the
// first preflight.
#pragma once

#include <string>
#include <vector>

#include "harness/manifest/project.h"

namespace abba::manifest {

struct TreeEntry {
  std::string path;  // relative to the project's root
  std::string mode;
  std::string blob;  // git's object id of the content
  // The id as a lock holds it.
  [[nodiscard]] std::string short_blob() const { return blob.substr(0, 12); }
};

struct SourceTree {
  bool available = false;
  std::string why_not;
  std::string digest;
  std::string commit;  // resolved revision (HEAD for the working tree); recorded, never compared
  bool dirty = false;  // a hashed file differs from `commit`
  std::vector<TreeEntry> entries;
  std::vector<std::string> untracked;  // in the working tree, would count if git tracked them
  std::vector<std::string> missing;    // declared paths that hold no entry, or are links
};

// `rev`: "" or "worktree" = the working tree, else any revision, also "merge-base(NAME)".
// `paths`: what counts, relative to the root; empty = the default rule. A document named in `paths`
// itself counts. Throws Error(kBadInput) if git is there but knows no such revision.
SourceTree source_tree(const Project& project, const std::string& rev,
                       const std::vector<std::string>& paths);

// Paths that were added, removed or changed between the two, sorted.
std::vector<std::string> changed_paths(const std::vector<TreeEntry>& before,
                                       const std::vector<TreeEntry>& now);

}  // namespace abba::manifest
