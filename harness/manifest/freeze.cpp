#include "harness/manifest/freeze.h"

#include <set>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/section.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShortId = 12;

void freeze_trees(const record::Manifest& manifest, const Project& project, FrozenSources& frozen) {
  for (const record::Arm* arm : {&manifest.a, &manifest.b}) {
    const bool as_a = arm->id == "B" && arm->rev == manifest.a.rev;
    SourceTree tree = as_a ? frozen.trees["A"] : source_tree(project, arm->rev, manifest.sources);
    if (tree.available) {
      frozen.digests["tree/" + arm->id] = tree.digest;
    } else if (!arm->rev.empty()) {
      throw base::Error(base::ErrorCode::kPreflight, project.root.string(),
                        "arm " + arm->id + " names a revision, but " + tree.why_not);
    } else if (!as_a) {
      frozen.notes.push_back("source trees not hashed: " + tree.why_not +
                             "; executables are bound at the first preflight");
    }
    frozen.trees[arm->id] = std::move(tree);
  }
}

const std::vector<std::string>& command_of(const record::Manifest& manifest, const record::Arm& arm,
                                           const Project& project) {
  if (!arm.program.empty()) return arm.program;
  if (!arm.worker.empty()) return arm.worker;
  return manifest.worker.empty() ? project.default_worker : manifest.worker;
}

void freeze_executables(const record::Manifest& manifest, const Project& project, HashCache& cache,
                        FrozenSources& frozen) {
  for (const record::Arm* arm : {&manifest.a, &manifest.b}) {
    const auto& command = command_of(manifest, *arm, project);
    std::error_code ignored;
    const fs::path path = command.empty() ? fs::path() : project.root / command[0];
    if (command.empty() || !fs::is_regular_file(path, ignored)) {
      throw base::Error(base::ErrorCode::kPreflight, path.string(),
                        "\"bind\": \"registered\" needs the executable of arm " + arm->id +
                            " before registration; build it first and name it by its path");
    }
    frozen.digests["executable/" + arm->id] = cache.digest(path);
  }
}

void walk(const base::Json& a, const base::Json& b, const std::string& pointer, std::size_t most,
          std::vector<std::string>& found) {
  if (found.size() >= most || a == b) return;
  if (a.is_object() && b.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : a.as_object()) keys.insert(key);
    for (const auto& [key, value] : b.as_object()) keys.insert(key);
    for (const std::string& key : keys) {
      const base::Json* left = a.find(key);
      const base::Json* right = b.find(key);
      walk(left != nullptr ? *left : base::Json(), right != nullptr ? *right : base::Json(),
           below(pointer, key), most, found);
    }
    return;
  }
  if (a.is_array() && b.is_array() && a.as_array().size() == b.as_array().size()) {
    for (std::size_t i = 0; i < a.as_array().size(); ++i) {
      walk(a.as_array()[i], b.as_array()[i], below(pointer, i), most, found);
    }
    return;
  }
  found.push_back(pointer);
}

}  // namespace

FrozenSources freeze_sources(const record::Manifest& manifest, const Project& project,
                             const MakeOptions& options) {
  FrozenSources frozen;
  HashCache cache = open_hash_cache(project);
  freeze_trees(manifest, project, frozen);
  if (!manifest.build.commands.empty()) {
    frozen.digests["build"] = base::sha256_hex(expand(manifest).at("build").canonical());
  }
  frozen.files = resolve_files(manifest, project, cache, options);
  for (const ResolvedFile& file : frozen.files) frozen.digests["file/" + file.name] = file.digest;
  for (const record::Workload& workload : manifest.workloads) {
    frozen.digests["input/" + workload.id] = input_digest(workload, project, cache);
  }
  if (!manifest.reference_environment.empty()) {
    frozen.digests["reference_environment"] =
        cache.digest(project.root / manifest.reference_environment);
  }
  if (manifest.bind_registered) freeze_executables(manifest, project, cache, frozen);
  cache.save();
  return frozen;
}

base::Json tree_files(const SourceTree& tree) {
  base::Json files = base::Json::object();
  for (const TreeEntry& entry : tree.entries) {
    files.set(entry.path, entry.mode + " " + entry.blob.substr(0, kShortId));
  }
  return files;
}

std::vector<std::string> differing_pointers(const base::Json& a, const base::Json& b,
                                            std::size_t most) {
  std::vector<std::string> found;
  walk(a, b, "", most, found);
  return found;
}

}  // namespace abba::manifest
