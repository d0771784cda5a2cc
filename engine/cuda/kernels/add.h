// add (engine/ops/problem.h: AddProblem): residual fp32 += branch act, in place. Read in place:
// branch. Nothing is copied. Device addresses; 16-byte alignment is used where it is there.
// Sizes: flat_refusal.
#pragma once

#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> add_kernels();

void launch_add(const ops::AddProblem& problem, const void* branch, float* residual,
                const LaunchContext& context);

}  // namespace abba::cuda
