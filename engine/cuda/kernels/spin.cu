// spin: one thread reads the global nanosecond timer until the time is over.
// Mapping: one block of one thread; the other multiprocessors idle, as they do while a stream waits
// for its last kernel.
// Bytes and FLOPs: none.
// Preconditions: a positive time.
// Exactness: touches no memory.
#include "engine/base/error.h"
#include "engine/cuda/geometry.h"
#include "engine/cuda/kernels/spin.h"

namespace abba::cuda {
namespace {

__device__ std::uint64_t timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin_kernel(std::uint64_t ns) {
  const std::uint64_t start = timer_ns();
  while (timer_ns() - start < ns) {
  }
}

const auto kSpin = make_kernel("spin", &spin_kernel);

}  // namespace

std::span<const KernelRow> spin_kernels() {
  static const KernelRow kRows[] = {kSpin};
  return kRows;
}

void launch_spin(std::int64_t ns, const LaunchContext& context) {
  ABBA_CHECK(ns > 0);
  context.launch(kSpin, Geometry{}, static_cast<std::uint64_t>(ns));
}

}  // namespace abba::cuda
