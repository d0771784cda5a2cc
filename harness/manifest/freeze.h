// What registration computes and what a later check computes again: the same function, so the two
// cannot drift apart.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/manifest/files.h"
#include "harness/manifest/project.h"
#include "harness/manifest/source_tree.h"

namespace abba::manifest {

struct FrozenSources {
  std::map<std::string, std::string> digests;  // "tree/A", "build", "file/NAME", "input/ID", ...
  std::map<std::string, SourceTree> trees;     // by arm
  std::vector<ResolvedFile> files;
  std::vector<std::string> notes;  // what could not be computed here, and why
  std::vector<std::string> free;   // what this registration leaves to the first run, or to nobody
};

FrozenSources freeze_sources(const record::Manifest& manifest, const Project& project,
                             const MakeOptions& options);

// Paths of a tree with shortened content ids, for naming what changed: {"PATH": "MODE BLOB12"}.
base::Json tree_files(const SourceTree& tree);

// JSON pointers at which two JSON values differ, at most `most`.
std::vector<std::string> differing_pointers(const base::Json& a, const base::Json& b,
                                            std::size_t most);

}  // namespace abba::manifest
