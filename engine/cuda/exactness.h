// What a level's declared exactness is worth on this GPU: ops::prove_exactness on a backend made
// for it, with the network's own products, since the library picks an algorithm by the whole shape.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cuda/backend.h"
#include "engine/ops/exactness.h"

namespace abba::cuda {

using ops::ProvedLevel;

[[nodiscard]] std::vector<ProvedLevel> prove_exactness(const Settings& settings,
                                                       std::int64_t hidden);

}  // namespace abba::cuda
