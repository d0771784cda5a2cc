// rope (engine/ops/problem.h: RopeProblem), all levels of the factor. In place on q and k of qkv
// act [B, L, 3, H, 64]; v's bytes are neither read nor written. Read in place: table fp32
// [positions, 64], 32 cosines then 32 sines a position, positions >= length. Nothing is copied.
// Device addresses; 16-byte alignment, except under row_block_32_div64, which asks for none. Sizes:
// rope_refusal (row_geometry.h).
#pragma once

#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> rope_kernels();
// The kernel a level loads; launch_rope launches this one and no other.
const KernelRow& rope_kernel_of(ops::RopeVariant variant, ops::Precision precision);

void launch_rope(const ops::RopeProblem& problem, const float* table, void* qkv,
                 const LaunchContext& context);

}  // namespace abba::cuda
