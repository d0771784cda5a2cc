// What was declared before the run: manifest, lock, plan.
#include "engine/base/sha256.h"
#include "harness/evidence/check_record.h"
#include "harness/manifest/parse.h"
#include "harness/record/registration.h"
#include "harness/store/record_json.h"

namespace abba::evidence {
namespace {

using base::Json;

// A manifest's parsed form without what depends on where and by which version it was read.
Json comparable(const record::Manifest& manifest) {
  Json json = store::to_json(manifest);
  json.erase("expanded");
  json.erase("path");
  return json;
}

std::string digest_of(const Json& json) {
  return base::sha256_hex(json.canonical());
}

}  // namespace

std::string check_manifest(const record::RunRecord& run, const store::RunTexts& texts) {
  const std::string& registered = run.registration.manifest_digest;
  if (!registered.empty() && digest_of(run.manifest.expanded) != registered) {
    return "the manifest has digest " + record::short_digest(digest_of(run.manifest.expanded)) +
           ", registered was " + record::short_digest(registered);
  }
  const auto expanded = manifest::parse_text(run.manifest.expanded.dump(), "");
  if (!expanded.ok()) {
    return "the expanded manifest is none: " + manifest::text(expanded.mistakes.front());
  }
  if (!(comparable(*expanded.manifest) == comparable(run.manifest))) {
    return "the parsed manifest is not the one that its expanded form gives";
  }
  if (texts.manifest_text.empty()) {
    return "";
  }
  const auto written = manifest::parse_text(texts.manifest_text, "");
  if (!written.ok()) {
    return "the manifest as written is none: " + manifest::text(written.mistakes.front());
  }
  if (!(comparable(*written.manifest) == comparable(run.manifest))) {
    return "the manifest as written is not the one that was run";
  }
  return "";
}

std::string check_lock(const record::RunRecord& run, const store::RunTexts& texts) {
  const record::Registration& registration = run.registration;
  Json lock = texts.lock;
  if (!lock.is_object()) {
    return "the run names registration " + record::short_digest(registration.lock_digest) +
           ", its lock is not in the file";
  }
  const Json* own = lock.find("digest");
  if (own == nullptr || !(*own == Json(registration.lock_digest))) {
    return "the lock names another digest than the run";
  }
  lock.erase("digest");
  if (digest_of(lock) != registration.lock_digest) {
    return "the lock has digest " + digest_of(lock).substr(0, 12) + ", the run names " +
           registration.lock_digest.substr(0, 12);
  }
  const Json* frozen = lock.find("manifest_digest");
  if (frozen == nullptr || !(*frozen == Json(registration.manifest_digest))) {
    return "the lock froze another manifest";
  }
  const Json* decisions = lock.find("decisions");
  if (decisions == nullptr || !(*decisions == registration.decisions)) {
    return "the lock froze other decisions than the run names";
  }
  const Json* plan = decisions->find("plan");
  if (plan != nullptr && !(*plan == store::to_json(run.plan))) {
    return "the lock froze another plan";
  }
  return "";
}

}  // namespace abba::evidence
