#include "harness/manifest/source_tree.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/manifest/command.h"

namespace abba::manifest {
namespace {

std::vector<std::string> git_words(std::vector<std::string> words) {
  // core.quotePath off and -z everywhere: paths as they are. No optional locks: a read-only tree.
  std::vector<std::string> argv = {"git", "--no-optional-locks", "-c", "core.quotePath=false"};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

CommandResult git(const Project& project, std::vector<std::string> words,
                  std::string_view input = {}) {
  return run_command(git_words(std::move(words)), project.root, input);
}

std::string git_line(const Project& project, std::vector<std::string> words) {
  const CommandResult result = git(project, std::move(words));
  return result.exit_code == 0 ? std::string(base::trim(result.out)) : std::string();
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_document(const std::string& path) {
  return ends_with(path, ".md") || path == "README" || ends_with(path, "/README");
}

bool lies_in(const std::string& path, std::string folder) {
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  if (folder.empty() || folder == ".") return true;
  return path == folder || (path.size() > folder.size() && path[folder.size()] == '/' &&
                            path.compare(0, folder.size(), folder) == 0);
}

bool counts(const std::string& path, const std::vector<std::string>& declared) {
  if (std::find(declared.begin(), declared.end(), path) != declared.end()) return true;
  if (is_document(path)) return false;
  if (declared.empty()) {
    return !lies_in(path, "manifests") && !lies_in(path, "results") && !lies_in(path, "reports");
  }
  return std::any_of(declared.begin(), declared.end(),
                     [&](const std::string& folder) { return lies_in(path, folder); });
}

// "MODE type BLOB\tPATH" (ls-tree) or "MODE BLOB stage\tPATH" (ls-files -s), NUL between entries.
std::vector<TreeEntry> parse_entries(const std::string& listing, std::size_t blob_field,
                                     const std::vector<std::string>& declared) {
  std::vector<TreeEntry> entries;
  for (const std::string& line : base::split(listing, '\0')) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::vector<std::string> fields = base::split(line.substr(0, tab), ' ');
    TreeEntry entry{line.substr(tab + 1), fields[0], fields.at(blob_field)};
    if (counts(entry.path, declared)) entries.push_back(std::move(entry));
  }
  return entries;
}

// Content ids of the files that differ from the index; a removed file has none.
std::map<std::string, std::string> changed_blobs(const Project& project,
                                                 const std::vector<std::string>& paths) {
  std::map<std::string, std::string> blobs;
  std::vector<std::string> present;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool exists = std::filesystem::is_regular_file(project.root / path, ignored) ||
                        std::filesystem::is_symlink(project.root / path, ignored);
    blobs[path] = exists ? "unknown" : "";
    if (exists && path.find('\n') == std::string::npos) present.push_back(path);
  }
  if (present.empty()) return blobs;
  const CommandResult hashed =
      git(project, {"hash-object", "--stdin-paths"}, base::join(present, "\n") + "\n");
  const std::vector<std::string> ids = base::split(hashed.out, '\n');
  for (std::size_t i = 0; i < present.size() && i < ids.size(); ++i) blobs[present[i]] = ids[i];
  return blobs;
}

// "./src/" is "src".
std::vector<std::string> normal(const std::vector<std::string>& declared) {
  std::vector<std::string> paths;
  for (const std::string& path : declared) {
    std::string text = std::filesystem::path(path).lexically_normal().generic_string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    paths.push_back(std::move(text));
  }
  return paths;
}

// Git keeps a link as a link: what it points to would not be frozen.
bool goes_through_link(const Project& project, const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = project.root;
  for (const auto& part : std::filesystem::path(path)) {
    at /= part;
    if (std::filesystem::is_symlink(at, ignored)) return true;
  }
  return false;
}

// Files that git neither tracks nor ignores, and declared ones that it ignores.
std::vector<std::string> untracked_paths(const Project& project,
                                         const std::vector<std::string>& declared,
                                         const std::vector<TreeEntry>& tracked) {
  const auto is_known = [&](const std::string& path, const std::vector<std::string>& others) {
    return std::find(others.begin(), others.end(), path) != others.end() ||
           std::any_of(tracked.begin(), tracked.end(),
                       [&](const TreeEntry& entry) { return entry.path == path; });
  };
  std::vector<std::string> paths;
  const CommandResult others = git(project, {"ls-files", "--others", "--exclude-standard", "-z"});
  for (const std::string& path : base::split(others.out, '\0')) {
    if (!path.empty() && !lies_in(path, ".abba") && counts(path, declared)) paths.push_back(path);
  }
  for (const std::string& path : declared) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(project.root / path, ignored) && !is_known(path, paths)) {
      paths.push_back(path);
    }
  }
  return paths;
}

void add_untracked(const Project& project, const std::vector<std::string>& paths,
                   std::vector<TreeEntry>& entries) {
  for (const auto& [path, blob] : changed_blobs(project, paths)) {
    std::error_code ignored;
    const auto permissions = std::filesystem::status(project.root / path, ignored).permissions();
    const bool runs =
        (permissions & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
    if (!blob.empty()) entries.push_back({path, runs ? "100755" : "100644", blob});
  }
}

// Files that git was told not to look at (update-index --assume-unchanged or --skip-worktree): it
// calls them unchanged whatever they hold, and they run all the same. `ls-files -v` marks the first
// with a small letter, the second with an S.
std::vector<std::string> unwatched_paths(const Project& project) {
  std::vector<std::string> paths;
  const CommandResult listed = git(project, {"ls-files", "-v", "-z"});
  for (const std::string& line : base::split(listed.out, '\0')) {
    if (line.size() > 2 &&
        (std::islower(static_cast<unsigned char>(line[0])) != 0 || line[0] == 'S')) {
      paths.push_back(line.substr(2));
    }
  }
  return paths;
}

// The working tree: the index, corrected by what differs from it on disk.
std::vector<TreeEntry> working_entries(const Project& project,
                                       const std::vector<std::string>& declared) {
  std::vector<TreeEntry> entries =
      parse_entries(git(project, {"ls-files", "-s", "-z"}).out, 1, declared);
  std::vector<std::string> touched;
  const CommandResult changed = git(project, {"diff-files", "--name-only", "--relative", "-z"});
  std::vector<std::string> candidates = base::split(changed.out, '\0');
  const std::vector<std::string> unwatched = unwatched_paths(project);
  candidates.insert(candidates.end(), unwatched.begin(), unwatched.end());
  for (const std::string& path : candidates) {
    if (!path.empty() && counts(path, declared)) touched.push_back(path);
  }
  const std::map<std::string, std::string> blobs = changed_blobs(project, touched);
  for (TreeEntry& entry : entries) {
    const auto found = blobs.find(entry.path);
    if (found != blobs.end()) entry.blob = found->second;
  }
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const TreeEntry& entry) { return entry.blob.empty(); }),
                entries.end());
  return entries;
}

std::string digest_of(std::vector<TreeEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  base::Sha256 sha;
  sha.update("abba.tree/1\n");
  for (const TreeEntry& entry : entries) {
    sha.update(entry.mode + " " + entry.blob + " " + entry.path + "\n");
  }
  return sha.hex_digest();
}

std::string resolve_revision(const Project& project, const std::string& rev) {
  constexpr std::string_view kMergeBase = "merge-base(";
  std::string commit;
  if (rev.rfind(kMergeBase, 0) == 0 && rev.back() == ')') {
    const std::string other = rev.substr(kMergeBase.size(), rev.size() - kMergeBase.size() - 1);
    commit = git_line(project, {"merge-base", "--", "HEAD", other});
  } else {
    commit = git_line(project,
                      {"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"});
  }
  if (commit.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, rev,
                      "is no revision that git knows in " + project.root.string());
  }
  return commit;
}

std::vector<TreeEntry> revision_entries(const Project& project, const std::string& commit,
                                        const std::vector<std::string>& declared) {
  return parse_entries(git(project, {"ls-tree", "-r", "-z", commit}).out, 2, declared);
}

}  // namespace

SourceTree source_tree(const Project& project, const std::string& rev,
                       const std::vector<std::string>& declared) {
  SourceTree tree;
  const std::vector<std::string> paths = normal(declared);
  const CommandResult inside = git(project, {"rev-parse", "--is-inside-work-tree"});
  if (inside.exit_code != 0 || base::trim(inside.out) != "true") {
    tree.why_not = inside.exit_code == 127
                       ? "git cannot be started"
                       : "no git work tree: " + std::string(base::trim(inside.err));
    return tree;
  }
  tree.available = true;
  if (rev.empty() || rev == "worktree") {
    tree.commit = git_line(project, {"rev-parse", "--verify", "--quiet", "HEAD"});
    tree.entries = working_entries(project, paths);
    tree.untracked = untracked_paths(project, paths, tree.entries);
    if (!paths.empty()) {
      add_untracked(project, std::exchange(tree.untracked, {}), tree.entries);
    }
    tree.digest = digest_of(tree.entries);
    if (!tree.commit.empty()) {
      std::vector<TreeEntry> committed = revision_entries(project, tree.commit, paths);
      tree.dirty = digest_of(committed) != tree.digest;
    }
  } else {
    tree.commit = resolve_revision(project, rev);
    tree.entries = revision_entries(project, tree.commit, paths);
    tree.digest = digest_of(tree.entries);
  }
  for (const std::string& path : paths) {
    const bool is_there = std::any_of(tree.entries.begin(), tree.entries.end(),
                                      [&](const auto& e) { return lies_in(e.path, path); });
    if (!is_there || goes_through_link(project, path)) tree.missing.push_back(path);
  }
  return tree;
}

std::vector<std::string> changed_paths(const std::vector<TreeEntry>& before,
                                       const std::vector<TreeEntry>& now) {
  std::map<std::string, std::string> old_blobs;
  for (const TreeEntry& entry : before) old_blobs[entry.path] = entry.mode + entry.blob;
  std::vector<std::string> changed;
  for (const TreeEntry& entry : now) {
    const auto found = old_blobs.find(entry.path);
    if (found == old_blobs.end() || found->second != entry.mode + entry.blob) {
      changed.push_back(entry.path);
    }
    if (found != old_blobs.end()) old_blobs.erase(found);
  }
  for (const auto& [path, blob] : old_blobs) changed.push_back(path);
  std::sort(changed.begin(), changed.end());
  return changed;
}

}  // namespace abba::manifest
