// cache_walk: at = next[at], `steps` times.
// Mapping: one block of one thread; a step waits for the one before it.
// Bytes: a sector of 32 a step, past the L1 (ld.global.cg).
// Preconditions: steps > 0, every word of next below its length.
// Exactness: integers.
#include "engine/base/error.h"
#include "engine/cuda/geometry.h"
#include "engine/cuda/kernels/cache_walk.h"

namespace abba::cuda {
namespace {

__global__ void cache_walk_kernel(const std::uint32_t* next, std::int64_t steps,
                                  std::uint32_t* end) {
  std::uint32_t at = 0;
  for (std::int64_t i = 0; i < steps; ++i) at = __ldcg(next + at);
  *end = at;
}

const auto kWalk = make_kernel("cache_walk", &cache_walk_kernel);

}  // namespace

std::span<const KernelRow> cache_walk_kernels() {
  static const KernelRow kRows[] = {kWalk};
  return kRows;
}

void launch_cache_walk(const std::uint32_t* next, std::int64_t steps, std::uint32_t* end,
                       const LaunchContext& context) {
  ABBA_CHECK(steps > 0);
  context.launch(kWalk, Geometry{}, next, steps, end);
}

}  // namespace abba::cuda
