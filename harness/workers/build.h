// Executables of git revisions. Each is built in a worktree of its own under .abba/, never in the
// tree a person works in, and kept in .abba/builds/<tree8>-<recipe8>-<toolchain8>/ so that the same
// sources, recipe and toolchain are built once. Refuses an unknown revision and a failing recipe.
#pragma once

#include <functional>
#include <string>

#include "harness/record/manifest.h"

namespace abba::workers {

struct BuiltRevision {
  std::string executable;  // absolute path
  std::string tree;        // git tree id of what was built
  std::string commit;      // empty for `worktree`
  bool cached = false;     // nothing had to be built
};

// `rev` is what git understands, or "worktree" (tracked and untracked files that are not ignored,
// copied out as they are now) or "merge-base(X)" (with HEAD). `recipe.commands` run in the worktree
// with {build} replaced by the build folder; `toolchain` is an opaque id that enters the cache key.
// Throws kBadInput (not a repository, unknown revision, empty recipe) or kBroken (a command failed:
// its last lines; the executable is missing afterwards; `stop` gave true while one was running).
BuiltRevision build_revision(const std::string& repo, const std::string& rev,
                             const record::BuildRecipe& recipe, const std::string& toolchain,
                             const std::function<bool()>& stop = {});

// The git tree id that `rev` stands for, without building.
std::string tree_of_revision(const std::string& repo, const std::string& rev);

// A digest of the compilers' `--version` lines (cc, c++, cmake; those found in PATH).
std::string toolchain_id();

}  // namespace abba::workers
