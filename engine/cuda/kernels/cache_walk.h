// cache_walk: one thread goes from line to line of a small memory, each read depending on the last:
// how long it takes says whether the lines were in the L2. For self-checks of a flush; no request
// needs it. Read in place: next, of 32-bit words. Written: *end.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> cache_walk_kernels();

// `steps` steps from word 0: at = next[at]; the last place goes to *end, so that no step can be
// left out. Device addresses.
void launch_cache_walk(const std::uint32_t* next, std::int64_t steps, std::uint32_t* end,
                       const LaunchContext& context);

}  // namespace abba::cuda
