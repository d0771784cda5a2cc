// transpose_heads (engine/ops/problem.h: TransposeHeadsProblem): the separate pass that
// attention_output = head_major needs. Every value is copied once, as the level says. Read in
// place: by_head act [B, H, rows, 64]. Written: by_row act [B, rows, H*64], which overlaps nothing.
// Device addresses, 16-byte aligned. Sizes: row_refusal(B * rows, H * 64).
#pragma once

#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> transpose_heads_kernels();

void launch_transpose_heads(const ops::TransposeHeadsProblem& problem, const void* by_head,
                            void* by_row, const LaunchContext& context);

}  // namespace abba::cuda
