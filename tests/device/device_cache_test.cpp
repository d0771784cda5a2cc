// Emptying the L2 between requests: cold is cold, by the check that a worker reports with every
// slot, and the check tells a flush from none.
#include "engine/cuda/device_cache.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <iostream>

#include "tests/device/launcher.h"

namespace abba::device {
namespace {

class DeviceCacheTest : public EveryWay {
 protected:
  // The least of some walks right after another one.
  static double warm_ns(cuda::DeviceCache& cache) {
    cache.walk_ns();
    double least = cache.walk_ns();
    for (int i = 0; i < 4; ++i) least = std::min(least, cache.walk_ns());
    return least;
  }
};

TEST_P(DeviceCacheTest, a_walk_after_a_flush_takes_longer_every_time) {
  cuda::DeviceCache cache;
  int l2_bytes = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), cudaSuccess);
  EXPECT_GE(cache.flushed_bytes(), 2 * static_cast<std::size_t>(l2_bytes));
  const double warm = warm_ns(cache);
  EXPECT_GT(warm, 0);
  for (int i = 0; i < 10; ++i) {
    cache.flush();
    const double cold = cache.walk_ns();
    EXPECT_GT(cold, 1.5 * warm) << "flush " << i;
    std::cout << "record: walk " << warm << " ns warm, " << cold << " ns after a flush\n";
  }
}

// Canary: without a flush the same question is answered no.
TEST_P(DeviceCacheTest, canary_a_walk_without_a_flush_is_warm) {
  cuda::DeviceCache cache;
  const double warm = warm_ns(cache);
  EXPECT_LT(warm_ns(cache), 1.5 * warm);
}

INSTANTIATE_TEST_SUITE_P(device, DeviceCacheTest, testing::ValuesIn(cuda_ways()), way_name);

}  // namespace
}  // namespace abba::device
