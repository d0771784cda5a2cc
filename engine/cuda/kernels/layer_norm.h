// layer_norm and add_norm (engine/ops/problem.h: NormProblem). Read in place: x, branch, gain,
// bias. Nothing is copied. add_norm writes the sum into `residual`; y never overlaps an input.
// Pointers are device addresses; 16-byte alignment is used where it is there; gain and bias are
// fp32, bias may be null; branch and y are act. Sizes: norm_refusal (row_geometry.h).
#pragma once

#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> layer_norm_kernels();

void launch_layer_norm(const ops::NormProblem& problem, const float* gain, const float* bias,
                       const float* x, void* y, const LaunchContext& context);
void launch_add_norm(const ops::NormProblem& problem, const float* gain, const float* bias,
                     const void* branch, float* residual, void* y, const LaunchContext& context);

}  // namespace abba::cuda
