// Description of one arm's requests: for tables and pictures, never for inference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/verdict.h"

namespace abba::stats {

// Requests below which a two-sided 95 % interval of the quantile does not exist, even if they were
// independent: the smallest n with p^n + (1-p)^n <= 0.05 (72 for p95, 368 for p99).
[[nodiscard]] int fewest_for_quantile(double p);

// Needs at least one value.
[[nodiscard]] record::ArmSummary describe(std::string arm, int pass, std::vector<double> values,
                                          std::int64_t failures);

}  // namespace abba::stats
