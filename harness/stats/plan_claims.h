// What a plan allows a run to say, before anything is measured.
#pragma once

#include <string>

#include "harness/record/manifest.h"

namespace abba::stats {

struct PlanClaims {
  std::string may_say;     // the words, "improved, regressed, ..."
  std::string cannot_say;  // one sentence; empty = nothing is missing
  std::string error_rate;  // of a wrong direction if nothing differs, one sentence
};

// Of a registered run of this manifest; an exploratory one says no more than `quick`.
[[nodiscard]] PlanClaims plan_claims(const record::Manifest& manifest);

}  // namespace abba::stats
