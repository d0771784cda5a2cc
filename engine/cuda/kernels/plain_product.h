// A matrix product without the library: for outputs of a few columns, which its tiles do not fit,
// and for problems it has no algorithm for. Read in place: x act [rows, depth], weight act
// [columns, depth], bias act [columns] or null. Written: y [rows, columns], act, or fp32 for a
// gated product. Nothing is copied. Device addresses, aligned to an element. Sizes:
// plain_product_refusal.
#pragma once

#include <span>
#include <string_view>

#include "engine/cuda/kernels/launch.h"

namespace abba::cuda {

struct PlainProblem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool relu = false;
  bool to_fp32 = false;  // y is fp32 whatever act is
};

std::span<const KernelRow> plain_product_kernels();

// Empty if the sizes are supported, else why not, as one sentence. Pure, as is the geometry.
std::string_view plain_product_refusal(std::int64_t rows, std::int64_t columns);
Geometry plain_product_geometry(std::int64_t rows, std::int64_t columns);

void launch_plain_product(const PlainProblem& problem, const void* x, const void* weight,
                          const void* bias, void* y, const LaunchContext& context);

}  // namespace abba::cuda
