#include "harness/stats/plan_claims.h"

#include <fmt/format.h>

#include "harness/stats/family.h"
#include "harness/stats/wording.h"

namespace abba::stats {

PlanClaims plan_claims(const record::Manifest& manifest) {
  const auto& protocol = manifest.protocol;
  const auto& success = manifest.success;
  if (protocol.preset == record::Preset::kTwoPass ||
      success.claim == record::Claim::kDisjointPassMeans) {
    return {"disjoint-pass-means met or not met, for each workload",
            "no verdict word, no interval and no error rate; a gate refuses it",
            "met in one workload of three if nothing differs (two of six orders of four means)"};
  }
  if (protocol.passes < kFewestPasses) {
    return {"invalid",
            fmt::format("no word can be concluded from fewer than {} passes", kFewestPasses), ""};
  }
  const std::string rate = fmt::format("at most {} over all looks and primary workloads",
                                       level_text(1 - success.confidence));
  if (protocol.preset == record::Preset::kQuick) {
    return {"faster, slower, no difference seen",
            "not improved, regressed or equivalent: \"no difference seen\" is no proof of "
            "equality",
            rate};
  }
  if (!success.harm_limit) {
    return {"improved, regressed, inconclusive, invalid",
            "not equivalent: no harm_limit is declared", rate};
  }
  return {fmt::format("improved, regressed, equivalent (within {}), inconclusive, invalid",
                      percent(*success.harm_limit).substr(1)),
          "", rate};
}

}  // namespace abba::stats
