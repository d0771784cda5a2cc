// What a matrix product with its epilogue becomes on the device, as pure functions:
//   kNone, kRelu  one product; bias and relu on the fp32 accumulator, one rounding
//   kGelu         the same, rounded; then gelu of the rounded values (two roundings, the recipe)
//   kGeglu        bf16 of up to kMostGatedRows rows: one kernel of ours (kernels/gated_product.h);
//                 else fp32 accumulators [rows, 2N] to scratch, then gelu(u1) * u2, one rounding;
//                 piece by piece, so that the scratch stays small
#pragma once

#include <cstdint>

#include "engine/cuda/cublaslt.h"
#include "engine/ops/problem.h"

namespace abba::cuda {

// The most bytes of accumulators a piece of a gated product has, but for kLeastRows rows. At the
// English widths these are 5632 rows: 44 x 21 tiles of 128 x 256, seven whole waves of 132
// multiprocessors. Measured on an H200 at 32 x 512: pieces that stay in the cache (1536 rows) 474
// us a product, pieces of 5888 rows 449, all rows at once 449; so the memory decides.
inline constexpr std::int64_t kMostAccumulatorBytes = std::int64_t{113} << 20U;
inline constexpr std::int64_t kLeastRows = 256;
// Beyond, the library's faster instructions are worth a second kernel and the accumulators' way
// through the cache. Measured on an H200 at the English widths: 48 rows 11.2 us in one kernel, 512
// rows 35.7 us against some 15 through the library, 1496 rows 65.9 us against some 37.
inline constexpr std::int64_t kMostGatedRows = 128;

Finish finish_of(const ops::MatmulProblem& problem);
// Columns of the library's product: twice the problem's where it is gated.
std::int64_t product_columns(const ops::MatmulProblem& problem);
// Rows of a piece; the last piece may have fewer.
std::int64_t rows_at_a_time(const ops::MatmulProblem& problem);
// Whether the library is asked at all: its tiles do not fit outputs of a few columns, for which
// plain_product is meant (the scorer's one, the actions' few).
bool uses_library(const ops::MatmulProblem& problem);
// Whether a gated product is one kernel.
bool uses_gated_kernel(const ops::MatmulProblem& problem, ops::Precision precision);
// Kernels the whole starts, if each can be loaded.
std::int64_t launches_of(const ops::MatmulProblem& problem, ops::Precision precision);

}  // namespace abba::cuda
