// The gated product in one launch: y = act(gelu_erf(x W1^T) * (x W2^T)), W1 and W2 the halves of
// one weight [2 * columns, depth], both sums in fp32 registers until the one rounding
// (Epilogue::kGeglu of engine/ops/problem.h). bf16 only. Read in place: x [rows, depth], weight.
// Nothing is copied and no accumulators are kept in memory. Written: y [rows, columns], which
// overlaps nothing. Device addresses, 16-byte aligned. What is not supported goes through the
// library and launch_geglu.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

// Rows x columns of y a block computes. A value's bits are the same under all.
enum class GatedTile { k64x32, k64x64, k128x128 };

// Empty, or why the kernels cannot compute these sizes.
std::string_view gated_product_refusal(std::int64_t rows, std::int64_t columns, std::int64_t depth);
// The largest tile that still gives the chip's multiprocessors a block or two each.
GatedTile best_gated_tile(std::int64_t rows, std::int64_t columns);
Geometry gated_product_geometry(GatedTile tile, std::int64_t rows, std::int64_t columns);

std::span<const KernelRow> gated_product_kernels();
const KernelRow& gated_product_kernel(GatedTile tile);

void launch_gated_product(GatedTile tile, std::int64_t rows, std::int64_t columns,
                          std::int64_t depth, const void* x, const void* weight, void* y,
                          const LaunchContext& context);

}  // namespace abba::cuda
