// spin: keeps the stream busy for a given time, computing nothing. A known slow-down for those who
// calibrate what measures this engine; no request needs it.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> spin_kernels();

// At least `ns` of the device's own nanosecond timer, whose step (a microsecond or less) adds to
// it.
void launch_spin(std::int64_t ns, const LaunchContext& context);

}  // namespace abba::cuda
