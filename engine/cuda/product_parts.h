// What a matrix product with its epilogue becomes on the device, as pure functions:
//   kNone, kRelu  one product; bias and relu on the fp32 accumulator, one rounding
//   kGelu         the same, rounded; then gelu of the rounded values (two roundings, the recipe)
//   kGeglu        fp32 accumulators [rows, 2N] to scratch, then gelu(u1) * u2, one rounding; piece
//                 by piece, so that the accumulators stay in the cache
#pragma once

#include <cstdint>

#include "engine/cuda/cublaslt.h"
#include "engine/ops/problem.h"

namespace abba::cuda {

// The most bytes of accumulators a piece of a gated product has, but for kLeastRows rows.
inline constexpr std::int64_t kMostAccumulatorBytes = std::int64_t{40} << 20U;
inline constexpr std::int64_t kLeastRows = 256;

Finish finish_of(const ops::MatmulProblem& problem);
// Columns of the library's product: twice the problem's where it is gated.
std::int64_t product_columns(const ops::MatmulProblem& problem);
// Rows of a piece; the last piece may have fewer.
std::int64_t rows_at_a_time(const ops::MatmulProblem& problem);
// Whether the library is asked at all: its tiles do not fit outputs of a few columns, for which
// plain_product is meant (the scorer's one, the actions' few).
bool uses_library(const ops::MatmulProblem& problem);
// Kernels the whole starts.
std::int64_t launches_of(const ops::MatmulProblem& problem);

}  // namespace abba::cuda
