// Empties the L2 of the current device between two requests, and shows that it did: for workers
// whose experiment asks for cold caches. Never used in a request.
#pragma once

#include <cstddef>

#include "engine/cuda/kernels/kernel_set.h"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/stream.h"

namespace abba::cuda {

class DeviceCache {
 public:
  // Allocates twice the L2's size on the current device, and what a walk goes over. Throws
  // base::Error if it cannot, or if the walk's kernel cannot be loaded.
  DeviceCache();

  // Writes the memory and waits: what was in the L2 before is in it no more.
  void flush();
  // One walk over kWalkBytes that a flush does not touch: nanoseconds, by the device's own events.
  double walk_ns();
  [[nodiscard]] std::size_t flushed_bytes() const { return memory_.size_bytes(); }

  static constexpr std::size_t kWalkBytes = std::size_t{512} << 10U;

 private:
  Stream stream_;
  KernelSet kernels_;
  LaunchState state_;
  DeviceBuffer memory_;
  DeviceBuffer walk_;  // the words, and behind them where a walk ended
  Event start_{Event::Timing::kOn};
  Event end_{Event::Timing::kOn};
  int value_ = 0;  // another one at every flush
};

}  // namespace abba::cuda
