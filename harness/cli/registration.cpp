#include "harness/cli/registration.h"

#include <filesystem>

#include "engine/base/error.h"
#include "harness/host/clock.h"
#include "harness/plan/make_plan.h"
#include "harness/store/record_json.h"

namespace abba::cli {

using base::Error;
using base::ErrorCode;

manifest::Registered register_now(const Loaded& loaded, const std::string& supersede) {
  manifest::RegisterOptions options;
  host::SystemClock clock;
  options.unix_seconds = clock.utc_seconds();
  options.supersede = supersede;
  options.plan = store::to_json(plan::make_plan(loaded.manifest));
  options.program = own_program().string();
  return manifest::register_manifest(loaded.manifest, loaded.project, options);
}

record::Registration registration_of(const Loaded& loaded) {
  const auto lock = manifest::lock_path(loaded.manifest.path);
  std::error_code ignored;
  if (!std::filesystem::exists(lock, ignored)) {
    throw Error(ErrorCode::kMismatch, loaded.manifest.path,
                "is not registered: " + lock.string() + " does not exist; run `abba register " +
                    loaded.manifest.path + "` first, or explore with --exploratory");
  }
  return manifest::load_lock(lock.string());
}

record::Plan registered_plan(const Loaded& loaded, const record::Registration& lock) {
  record::Plan plan = plan::make_plan(loaded.manifest);
  const base::Json* frozen = lock.decisions.find("plan");
  if (frozen == nullptr || lock.exploratory()) {
    return plan;
  }
  record::Plan registered;
  store::from_json(*frozen, "decisions.plan", registered);
  if (!(store::to_json(registered) == store::to_json(plan))) {
    throw Error(ErrorCode::kMismatch, manifest::lock_path(loaded.manifest.path).string(),
                "froze another plan than this manifest and this version of abba give; restore the "
                "manifest, use the version that registered it, or register anew with --supersede " +
                    record::short_digest(lock.lock_digest));
  }
  return plan;
}

std::map<std::string, std::string> fixed_bindings(const Loaded& loaded,
                                                  const record::Registration& lock) {
  std::map<std::string, std::string> fixed = loaded.manifest.fixed_hashes;
  for (const auto& [name, digest] : lock.sources) {
    if (name.rfind("executable/", 0) == 0 || name.rfind("argument/", 0) == 0) {
      fixed[name] = digest;
    }
  }
  return fixed;
}

}  // namespace abba::cli
