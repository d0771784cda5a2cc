// Description of one arm's requests: for tables and pictures, never for inference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/verdict.h"

namespace abba::stats {

// Needs at least one value.
[[nodiscard]] record::ArmSummary describe(std::string arm, int pass, std::vector<double> values,
                                          std::int64_t failures);

}  // namespace abba::stats
