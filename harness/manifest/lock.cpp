#include "harness/manifest/lock.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/freeze.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/registrations.h"

namespace abba::manifest {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Json;

constexpr std::string_view kLockSchema = "abba.lock/1";

Json without_digest(const record::Registration& lock) {
  Json sources = Json::object();
  for (const auto& [name, digest] : lock.sources) sources.set(name, digest);
  return Json::object({{"schema", kLockSchema},
                       {"registered_utc", lock.registered_utc},
                       {"manifest_digest", lock.manifest_digest},
                       {"seed", lock.seed},
                       {"commit", lock.commit},
                       {"supersedes", lock.supersedes},
                       {"sources", sources},
                       {"decisions", lock.decisions}});
}

Json decisions_of(const record::Manifest& manifest, const FrozenSources& frozen, const Json& plan) {
  const Json expanded = expand(manifest);
  Json decisions = Json::object({{"sizing_rule", expanded.at("protocol").at("slot")},
                                 {"outputs", expanded.at("outputs")},
                                 {"success", expanded.at("success")},
                                 {"manifest", expanded}});
  if (!plan.is_null()) decisions.set("plan", plan);
  Json trees = Json::object();
  for (const auto& [arm, tree] : frozen.trees) {
    const bool as_a = arm == "B" && tree.digest == frozen.trees.at("A").digest;
    if (tree.available && !as_a) trees.set(arm, tree_files(tree));
  }
  decisions.set("tree_files", trees);
  return decisions;
}

// A declared source that is nowhere would freeze nothing, silently. With revisions it may exist in
// one arm only.
void require_declared(const record::Manifest& manifest, const FrozenSources& frozen) {
  const auto& a = frozen.trees.at("A");
  const auto& b = frozen.trees.at("B");
  for (const std::string& path : a.missing) {
    if (std::find(b.missing.begin(), b.missing.end(), path) == b.missing.end()) continue;
    throw Error(ErrorCode::kBadInput, manifest.path,
                "declares the source \"" + path +
                    "\", which holds no file that could be frozen (documents and what links point "
                    "to do not count); name files or folders of the project");
  }
}

void require_fixed_hashes(const record::Manifest& manifest, const FrozenSources& frozen) {
  for (const auto& [name, wanted] : manifest.fixed_hashes) {
    const auto found = frozen.digests.find(name);
    if (found != frozen.digests.end() && found->second != wanted) {
      throw Error(ErrorCode::kMismatch, name,
                  "has digest " + found->second + ", but the manifest fixes " + wanted +
                      " under \"hashes\"; restore it or correct the manifest");
    }
  }
}

record::Registration make_registration(const record::Manifest& manifest, FrozenSources& frozen,
                                       const RegisterOptions& options) {
  record::Registration lock;
  lock.manifest_digest = digest(manifest);
  lock.registered_utc = base::utc_text(options.unix_seconds);
  lock.seed = manifest.protocol.seed;
  lock.decisions = decisions_of(manifest, frozen, options.plan);
  lock.sources = frozen.digests;
  lock.commit = frozen.trees.at("A").commit;
  return lock;
}

bool same_registration(const record::Registration& a, const record::Registration& b) {
  return a.manifest_digest == b.manifest_digest && a.sources == b.sources;
}

// What an existing lock means: nothing to do (true), or a supersession that was asked for.
bool settle_existing(const record::Registration& existing, const std::string& file,
                     const RegisterOptions& options, record::Registration& fresh) {
  if (options.supersede.empty()) {
    if (same_registration(existing, fresh)) return true;
    std::vector<std::string> names;
    if (existing.manifest_digest != fresh.manifest_digest) names.emplace_back("manifest");
    for (const auto& [name, value] : fresh.sources) {
      const auto found = existing.sources.find(name);
      if (found == existing.sources.end() || found->second != value) names.push_back(name);
    }
    throw Error(ErrorCode::kMismatch, file,
                "is a registration that differs in " + base::join(names, ", ") +
                    "; restore what changed, or register anew with --supersede " +
                    record::short_digest(existing.lock_digest));
  }
  const bool names_it = options.supersede.size() >= record::kShortDigest &&
                        existing.lock_digest.rfind(options.supersede, 0) == 0;
  if (!names_it) {
    throw Error(ErrorCode::kMismatch, file,
                "is registration " + record::short_digest(existing.lock_digest) +
                    ", not the one --supersede names (" + options.supersede + ")");
  }
  fresh.supersedes = existing.lock_digest;
  return false;
}

// No lock lies beside the manifest. If the ledger knows a registration whose lock is gone, the new
// one must name it; else there is nothing to replace.
void settle_missing(const LedgerReading& ledger, const record::Manifest& manifest,
                    const Project& project, const RegisterOptions& options, const std::string& file,
                    record::Registration& fresh) {
  const auto deleted = without_lock(ledger, manifest, project);
  if (!deleted && options.supersede.empty()) return;
  if (!deleted) {
    throw Error(ErrorCode::kMismatch, file,
                "does not exist, so --supersede names nothing; leave the option out");
  }
  const std::string& digest = deleted->lock_digest;
  if (options.supersede.size() < record::kShortDigest || digest.rfind(options.supersede, 0) != 0) {
    throw Error(ErrorCode::kMismatch, file,
                "is gone, but the ledger holds " + text(*deleted) +
                    "; restore the lock as it was committed, or replace it by name with "
                    "--supersede " +
                    record::short_digest(digest));
  }
  fresh.supersedes = digest;
}

// The lock is written first; if the ledger cannot follow, the lock goes back to what it was.
record::LedgerEvent write_both(const record::Manifest& manifest, const Project& project,
                               const Registered& result, const std::string& before,
                               std::int64_t unix_seconds) {
  const record::Registration& lock = result.registration;
  base::write_file_atomically(result.lock_file, to_json(lock).dump_pretty());
  try {
    Json details = Json::object({{"manifest", manifest.id},
                                 {"file", ledger_name(project, manifest.path)},
                                 {"manifest_digest", lock.manifest_digest}});
    if (!lock.supersedes.empty()) details.set("supersedes", lock.supersedes);
    return append_event(ledger_folder(project), record::LedgerEventKind::kRegistered,
                        lock.lock_digest, details, unix_seconds);
  } catch (...) {
    std::error_code ignored;
    if (before.empty()) {
      fs::remove(result.lock_file, ignored);
    } else {
      base::write_file_atomically(result.lock_file, before);
    }
    throw;
  }
}

}  // namespace

Json to_json(const record::Registration& lock) {
  Json object = without_digest(lock);
  object.set("digest", lock.lock_digest);
  return object;
}

Registered register_manifest(const record::Manifest& manifest, const Project& project,
                             const RegisterOptions& options) {
  ABBA_CHECK(!manifest.path.empty());
  MakeOptions make;
  make.program = options.program;
  make.allow_make = options.allow_make;
  const LedgerReading ledger = read_ledger(ledger_folder(project));
  require_sound(ledger);
  FrozenSources frozen = freeze_sources(manifest, project, make);
  require_declared(manifest, frozen);
  require_fixed_hashes(manifest, frozen);
  Registered result;
  result.notes = frozen.notes;
  result.notes.insert(result.notes.end(), frozen.free.begin(), frozen.free.end());
  result.lock_file = lock_path(manifest.path).string();
  result.registration = make_registration(manifest, frozen, options);
  std::string before;
  std::error_code ignored;
  if (fs::exists(result.lock_file, ignored)) {
    const record::Registration existing = load_lock(result.lock_file);
    if (settle_existing(existing, result.lock_file, options, result.registration)) {
      require_registered(ledger, existing.lock_digest);
      result.registration = existing;
      result.existed = true;
      return result;
    }
    before = base::read_file(result.lock_file);
  } else {
    settle_missing(ledger, manifest, project, options, result.lock_file, result.registration);
  }
  result.registration.lock_digest =
      base::sha256_hex(without_digest(result.registration).canonical());
  result.event = write_both(manifest, project, result, before, options.unix_seconds);
  return result;
}

record::Registration load_lock(const std::string& lock_file) {
  base::JsonLimits limits;
  limits.max_depth = 48;
  const Json root = base::parse_json_file(lock_file, limits);
  if (root.get_string("schema", lock_file) != kLockSchema) {
    throw Error(ErrorCode::kBadInput, lock_file,
                "has schema \"" + root.get_string("schema", lock_file) + "\", this program reads " +
                    std::string(kLockSchema));
  }
  record::Registration lock;
  lock.lock_digest = root.get_string("digest", lock_file);
  lock.manifest_digest = root.get_string("manifest_digest", lock_file);
  lock.registered_utc = root.get_string("registered_utc", lock_file);
  lock.seed = static_cast<std::uint64_t>(root.get_int("seed", lock_file));
  lock.commit = root.get_string("commit", lock_file);
  lock.supersedes = root.get_string("supersedes", lock_file);
  lock.decisions = root.at("decisions", lock_file);
  const Json& sources = root.at("sources", lock_file);
  if (!sources.is_object() || !lock.decisions.is_object()) {
    throw Error(ErrorCode::kBadInput, lock_file, "needs objects as sources and decisions");
  }
  for (const auto& [name, value] : sources.as_object()) {
    lock.sources[name] = sources.get_string(name, lock_file);
  }
  Json content = root;
  content.erase("digest");
  if (base::sha256_hex(content.canonical()) != lock.lock_digest) {
    throw Error(ErrorCode::kMismatch, lock_file,
                "was changed after registration: its content does not have the digest it states; "
                "restore it from version control");
  }
  return lock;
}

}  // namespace abba::manifest
