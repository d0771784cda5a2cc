// Times what a backend's operations take on the device, apart from what the host takes to start
// them: the stream is held until everything is queued, so that it then runs back to back between
// two events. For profiles; never used in a request.
#pragma once

#include <atomic>
#include <functional>

#include "engine/cuda/stream.h"
#include "engine/ops/backend.h"

namespace abba::cuda {

class Stopwatch {
 public:
  // `backend` was made by make_backend (ABBA_CHECK) and outlives this.
  explicit Stopwatch(ops::Backend& backend);
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Nanoseconds of what `issue` starts. It must start no more than some 500 kernels and must not
  // wait for the device, which would wait for ever.
  double device_ns(const std::function<void()>& issue);

 private:
  const Stream& stream_;
  Event start_{Event::Timing::kOn};
  Event end_{Event::Timing::kOn};
  std::atomic<bool> released_ = true;
};

}  // namespace abba::cuda
