// What a level's declared exactness is worth on this CPU: ops::prove_exactness with the products
// that this backend's product path makes worth trying.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/backend.h"
#include "engine/ops/exactness.h"

namespace abba::cpu {

using ops::count_row_differences;
using ops::count_split_differences;
using ops::ProvedLevel;

// One entry per factor, in the order of ops::variant_tables("cpu"). `hidden` is the network's D, a
// multiple of 64: the depths of the products that marker_rows shortens are D and 4D.
[[nodiscard]] std::vector<ProvedLevel> prove_exactness(const Settings& settings,
                                                       std::int64_t hidden);

}  // namespace abba::cpu
