#include "engine/cuda/device_cache.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/cuda/kernels/cache_walk.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

constexpr std::size_t kLineBytes = 128;
constexpr std::size_t kLineWords = kLineBytes / sizeof(std::uint32_t);
constexpr std::size_t kLines = DeviceCache::kWalkBytes / kLineBytes;

std::size_t l2_bytes() {
  int device = 0;
  require(cudaGetDevice(&device), "asking for the current device");
  int bytes = 0;
  require(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
          "asking for the size of the L2");
  ABBA_CHECK(bytes > 0);
  return static_cast<std::size_t>(bytes);
}

// Every line once, in an order that no prefetcher guesses; the last leads to the first.
std::vector<std::uint32_t> make_walk() {
  std::vector<std::uint32_t> order(kLines);
  std::iota(order.begin(), order.end(), 0U);
  base::Random random(12345);
  for (std::size_t i = kLines - 1; i > 1; --i) {  // line 0 stays the first
    std::swap(order[i], order[1 + static_cast<std::size_t>(random.below(i))]);
  }
  std::vector<std::uint32_t> next(kLines * kLineWords);
  for (std::size_t i = 0; i < kLines; ++i) {
    next[order[i] * kLineWords] = order[(i + 1) % kLines] * static_cast<std::uint32_t>(kLineWords);
  }
  return next;
}

}  // namespace

DeviceCache::DeviceCache()
    : kernels_(cache_walk_kernels(), "this device", load_kernel),
      memory_(2 * l2_bytes(), "what empties the L2"),
      walk_(kWalkBytes + kLineBytes, "what is walked over to see whether the L2 is cold") {
  const KernelRow& kernel = cache_walk_kernels()[0];
  if (!kernels_.is_available(kernel)) {
    throw base::Error(base::ErrorCode::kBroken, "flush",
                      "the kernel that checks it cannot be loaded: " + kernels_.reason(kernel));
  }
  const std::vector<std::uint32_t> next = make_walk();
  require(
      cudaMemcpyAsync(walk_.data(), next.data(), kWalkBytes, cudaMemcpyHostToDevice, stream_.get()),
      "copying what is walked over");
  stream_.synchronize();
}

void DeviceCache::flush() {
  value_ = (value_ + 1) % 256;
  require(cudaMemsetAsync(memory_.data(), value_, memory_.size_bytes(), stream_.get()),
          "emptying the L2");
  stream_.synchronize();
}

double DeviceCache::walk_ns() {
  const LaunchContext context(stream_.get(), kernels_, state_, ops::Precision::kFp32,
                              ops::Handles::kResolved);
  start_.record(stream_);
  launch_cache_walk(reinterpret_cast<const std::uint32_t*>(walk_.data()), kLines,
                    reinterpret_cast<std::uint32_t*>(walk_.data() + kWalkBytes), context);
  end_.record(stream_);
  stream_.synchronize();
  require(state_.first_error, "walking over memory");
  return 1e6 * static_cast<double>(end_.elapsed_ms(start_));
}

}  // namespace abba::cuda
