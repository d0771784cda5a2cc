// gather_rows (engine/ops/problem.h: GatherProblem). Rows are copied, as the operation asks;
// nothing else is. Read in place: x, indices int32 [picked] in 0 .. source_rows - 1 (the model
// refuses others). Written: y, which overlaps nothing. Device addresses, aligned to an element;
// 16-byte alignment is used where it is there. Sizes: row_refusal(picked, hidden).
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

std::span<const KernelRow> gather_rows_kernels();

// `element_bytes`: 2 or 4, the same on both sides, whatever the precision is.
void launch_gather_rows(const ops::GatherProblem& problem, std::int64_t element_bytes,
                        const void* x, const std::int32_t* indices, void* y,
                        const LaunchContext& context);

}  // namespace abba::cuda
