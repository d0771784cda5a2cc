// geglu (engine/ops/problem.h: GegluProblem) and the gelu that follows a rounded product
// (Epilogue::kGelu). Read in place: u. Nothing is copied; gelu works in place. Device addresses;
// 16-byte alignment is used where it is there. Sizes: row_refusal, flat_refusal.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> geglu_kernels();

// u fp32 [rows, 2 * columns] -> g act [rows, columns].
void launch_geglu(const ops::GegluProblem& problem, const float* u, void* g,
                  const LaunchContext& context);
// y[i] = act(gelu_erf(y[i])) for `count` elements of act, rounded before as the recipe asks.
void launch_gelu(std::int64_t count, void* y, const LaunchContext& context);

}  // namespace abba::cuda
