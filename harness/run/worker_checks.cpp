#include "harness/run/worker_checks.h"

#include "engine/base/error.h"
#include "harness/host/affinity.h"

namespace abba::run {

using base::Error;
using base::ErrorCode;

void require_affinity(const std::string& arm, const std::vector<int>& wanted,
                      const std::vector<int>& found) {
  if (!wanted.empty() && !found.empty() && wanted != found) {
    throw Error(ErrorCode::kPreflight, "worker " + arm,
                "may run on CPUs " + host::cpu_list_text(found) + " but was to be held on " +
                    host::cpu_list_text(wanted) + "; ask for CPUs that this machine grants");
  }
}

void require_abilities(const record::Manifest& manifest, const std::string& arm,
                       const record::WorkerHello& hello) {
  if (manifest.protocol.cache == record::kFlushCaches && !hello.declares("flush")) {
    throw Error(ErrorCode::kPreflight, "worker " + arm,
                "cannot empty caches (it does not declare \"flush\"); write \"cache\": \"warm\"");
  }
  if (manifest.protocol.placement != record::Placement::kSharedProcess) {
    return;
  }
  for (const auto& [name, level] : manifest.arm(arm).factors) {
    const record::FactorDecl* factor = hello.factor(name);
    if (factor == nullptr || !factor->hot) {
      throw Error(ErrorCode::kPreflight, "worker " + arm,
                  "cannot switch " + name +
                      " between two slots (it is not hot); write "
                      "\"placement\": \"both-loaded\" or \"one-at-a-time\"");
    }
  }
}

void require_effective(const std::string& arm, const record::WorkerHello& hello,
                       const record::LoadRequest& asked, const record::LoadReply& reply) {
  const std::string where = "worker " + arm;
  const bool asks =
      !asked.factors.empty() || (asked.settings.is_object() && !asked.settings.as_object().empty());
  if (asks && !hello.declares("load")) {
    throw Error(ErrorCode::kPreflight, where,
                "takes no settings or factors (it does not declare \"load\"); remove them from "
                "the manifest or use a worker that does");
  }
  for (const auto& [name, level] : asked.factors) {
    const auto effective = reply.factors.find(name);
    const std::string found = effective == reply.factors.end() ? "nothing" : effective->second;
    if (found != level) {
      throw Error(ErrorCode::kPreflight, where,
                  "was asked for " + name + " = " + level + " but reports " + found +
                      "; ask for a level that it can really run here");
    }
  }
  if (!asked.settings.is_object()) {
    return;
  }
  for (const auto& [key, value] : asked.settings.as_object()) {
    const base::Json* effective = reply.settings.find(key);
    if (effective == nullptr || !(*effective == value)) {
      throw Error(ErrorCode::kPreflight, where,
                  "was asked for setting " + key + " = " + value.dump() + " but reports " +
                      (effective == nullptr ? "nothing" : effective->dump()) +
                      "; ask for a value that it can really use here");
    }
  }
}

}  // namespace abba::run
