#include <algorithm>

#include "engine/base/text.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/freeze.h"
#include "harness/manifest/lock.h"

namespace abba::manifest {
namespace {

constexpr std::size_t kMostNamed = 10;

// The lock's tree as entries with shortened content ids; empty if it was not stored.
std::vector<TreeEntry> registered_entries(const record::Registration& lock,
                                          const std::string& arm) {
  std::vector<TreeEntry> entries;
  const base::Json* trees = lock.decisions.find("tree_files");
  const base::Json* files = trees == nullptr ? nullptr : trees->find(arm);
  if (files == nullptr && trees != nullptr) files = trees->find("A");
  if (files == nullptr || !files->is_object()) return entries;
  for (const auto& [path, value] : files->as_object()) {
    if (!value.is_string()) continue;
    const std::vector<std::string> parts = base::split(value.as_string(), ' ');
    if (parts.size() == 2) entries.push_back({path, parts[0], parts[1]});
  }
  return entries;
}

std::string changed_files(const record::Registration& lock, const std::string& arm,
                          const SourceTree& tree) {
  std::vector<TreeEntry> now = tree.entries;
  for (TreeEntry& entry : now) entry.blob = entry.short_blob();
  std::vector<std::string> changed = changed_paths(registered_entries(lock, arm), now);
  const std::size_t count = changed.size();
  changed.resize(std::min(count, kMostNamed));
  std::string text = base::join(changed, ", ");
  if (count > kMostNamed) text += " and " + std::to_string(count - kMostNamed) + " more";
  return text;
}

void compare_manifest(const record::Manifest& manifest, const record::Registration& lock,
                      LockCheck& check) {
  const std::string now = digest(manifest);
  if (now == lock.manifest_digest) return;
  const base::Json* registered = lock.decisions.find("manifest");
  std::string where;
  if (registered != nullptr) {
    where = base::join(differing_pointers(*registered, expand(manifest), kMostNamed), ", ");
  }
  check.mismatches.push_back({"manifest", lock.manifest_digest, now, where});
}

void compare_sources(const record::Registration& lock, const FrozenSources& frozen,
                     LockCheck& check) {
  for (const auto& [name, registered] : lock.sources) {
    const auto found = frozen.digests.find(name);
    const bool is_tree = name.rfind("tree/", 0) == 0;
    if (found == frozen.digests.end()) {
      // Without git or sources at hand the executables, bound by hash, stand for the tree.
      if (!is_tree) check.mismatches.push_back({name, registered, "nothing", ""});
      continue;
    }
    if (found->second == registered) continue;
    const std::string arm = is_tree ? name.substr(5) : std::string();
    check.mismatches.push_back(
        {name, registered, found->second,
         is_tree ? changed_files(lock, arm, frozen.trees.at(arm)) : std::string()});
  }
  for (const auto& [name, value] : frozen.digests) {
    if (lock.sources.count(name) > 0) continue;
    if (name.rfind("tree/", 0) == 0) {
      check.notes.push_back(name + " not compared: the registration was made without git");
    } else if (name.rfind("argument/", 0) == 0 || name.rfind("executable/", 0) == 0) {
      check.notes.push_back(name + " not compared: this registration did not freeze it");
    } else {
      check.mismatches.push_back({name, "nothing", value, ""});
    }
  }
}

}  // namespace

std::string text(const Mismatch& mismatch) {
  std::string line = mismatch.name + ": registered " + mismatch.registered.substr(0, 16) +
                     ", found " + mismatch.found.substr(0, 16);
  if (!mismatch.detail.empty()) line += " (" + mismatch.detail + ")";
  return line;
}

LockCheck check_lock(const record::Manifest& manifest, const record::Registration& lock,
                     const Project& project, const MakeOptions& options) {
  LockCheck check;
  compare_manifest(manifest, lock, check);
  FrozenSources frozen = freeze_sources(manifest, project, options);
  compare_sources(lock, frozen, check);
  check.notes.insert(check.notes.end(), frozen.notes.begin(), frozen.notes.end());
  check.files = std::move(frozen.files);
  return check;
}

}  // namespace abba::manifest
