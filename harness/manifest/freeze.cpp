#include "harness/manifest/freeze.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/section.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;

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

bool is_elf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, 4) ==
                                               "\x7f"
                                               "ELF";
}

// A word of a command that names a file of the project or an absolute one, not a name for PATH.
fs::path named_file(const std::string& word, std::size_t position, const Project& project) {
  const bool is_name = position == 0 && word.find('/') == std::string::npos;
  std::error_code ignored;
  const fs::path path = project.root / word;
  const bool is_file =
      !word.empty() && word[0] != '-' && !is_name && fs::is_regular_file(path, ignored);
  return is_file ? path : fs::path();
}

// Scripts are sources wherever git keeps them or not; their names are those of the bindings, which
// hold every pass to the same bytes. A compiled program is left to the binding of the first run.
void freeze_command(const std::vector<std::string>& command, const std::string& owner,
                    const Project& project, HashCache& cache, FrozenSources& frozen) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const fs::path path = named_file(command[i], i, project);
    if (path.empty()) {
      const bool is_later = i == 0 && command[i].find('/') != std::string::npos;
      if (is_later) frozen.free.push_back(command[i] + " is not there yet: bound by the first run");
      continue;
    }
    std::string name =
        i == 0 ? "executable/" + owner : "argument/" + owner + "/" + path.filename().string();
    const int count = ++counts[name];
    if (count > 1) name += "#" + std::to_string(count);
    if (!is_elf(path)) {
      frozen.digests[name] = cache.digest(path);
    } else if (i == 0 && frozen.digests.count(name) == 0) {
      frozen.free.push_back(command[i] + " is a compiled program: bound by the first run");
    }
  }
}

void freeze_commands(const record::Manifest& manifest, const Project& project, HashCache& cache,
                     const std::string& program, FrozenSources& frozen) {
  for (const record::Arm* arm : {&manifest.a, &manifest.b}) {
    std::vector<std::string> command = command_of(manifest, *arm, project);
    if (!arm->rev.empty() && !command.empty()) command[0].clear();  // built from the revision
    freeze_command(fill_in(command, project, program, ""), arm->id, project, cache, frozen);
  }
  freeze_command(fill_in(manifest.outputs.reference.worker, project, program, ""), "reference",
                 project, cache, frozen);
}

constexpr std::size_t kMostNamed = 5;

void name_untracked(FrozenSources& frozen) {
  const SourceTree& tree = frozen.trees.at("A");
  if (tree.untracked.empty()) return;
  std::vector<std::string> named = tree.untracked;
  named.resize(std::min(named.size(), kMostNamed));
  std::string text = "not frozen, since git does not track them: " + base::join(named, ", ");
  if (tree.untracked.size() > kMostNamed) {
    text += " and " + std::to_string(tree.untracked.size() - kMostNamed) + " more";
  }
  frozen.free.push_back(text + "; add them to git, or name them under \"sources\"");
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
  freeze_commands(manifest, project, cache, options.program, frozen);
  name_untracked(frozen);
  cache.save();
  return frozen;
}

base::Json tree_files(const SourceTree& tree) {
  base::Json files = base::Json::object();
  for (const TreeEntry& entry : tree.entries) {
    files.set(entry.path, entry.mode + " " + entry.short_blob());
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
