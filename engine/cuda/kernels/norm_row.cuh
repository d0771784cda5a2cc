// The layer norm of one row by one block, 8 columns a thread, the row in registers from its one
// reading to its writing. Used by layer_norm.cu (also as add_norm) and embed_norm.cu.
//
// Statistics in fp32 from the values in registers: mean, then the squared differences to it
// (E[x^2] - mean^2 would lose everything to one channel of 3e4). Additions: 8 values of a thread as
// a tree, 32 lanes as a butterfly, warps in order; the tree depends on the hidden size alone.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/formulas.h"

namespace abba::cuda {

inline constexpr int kNormThreads = 1024;  // most threads of a block: 8192 / 8
inline constexpr int kNormWarps = kNormThreads / 32;

__device__ inline float sum_of_warp(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = round_add(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
}

// Every thread gets the sums; `partial` may not be used again before all threads are past it.
__device__ inline float sum_of_block(float value, float (&partial)[kNormWarps]) {
  value = sum_of_warp(value);
  if (blockDim.x == 32) return value;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) sum = round_add(sum, partial[warp]);
  return sum;
}
__device__ inline float2 sum_of_block(float2 value, float2 (&partial)[kNormWarps]) {
  value = make_float2(sum_of_warp(value.x), sum_of_warp(value.y));
  if (blockDim.x == 32) return value;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float2 sum = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
    sum.x = round_add(sum.x, partial[warp].x);
    sum.y = round_add(sum.y, partial[warp].y);
  }
  return sum;
}

// What all norm kernels read besides the row. `in_vectors`: the hidden size is a multiple of 8 and
// every address of 16 bytes; otherwise values are read one by one, in the same places.
struct NormArgs {
  const float* gain;
  const float* bias;  // may be null
  std::int64_t hidden;
  float epsilon;
  bool in_vectors;
};

// How many of a thread's 8 columns lie in the row.
__device__ inline int columns_of_thread(std::int64_t hidden) {
  const std::int64_t left = hidden - std::int64_t{threadIdx.x} * 8;
  return left >= 8 ? 8 : left <= 0 ? 0 : static_cast<int>(left);
}

// v: in, the thread's 8 values of the row (zeros beyond it); out, the norm's. All threads of the
// block call it.
__device__ inline void normalize_row(const NormArgs& args, float (&v)[8]) {
  __shared__ float partial_sums[kNormWarps];
  __shared__ float2 partial_squares[kNormWarps];
  const std::int64_t column = std::int64_t{threadIdx.x} * 8;
  const int count = columns_of_thread(args.hidden);
  float gain[8];
  float bias[8] = {};
  load_some(args.gain + column, count, args.in_vectors, gain);  // on their way while the sums are
  if (args.bias != nullptr) load_some(args.bias + column, count, args.in_vectors, bias);
  const auto n = static_cast<float>(args.hidden);
  const float mean = sum_of_block(sum_of_8(v), partial_sums) / n;
  float squares[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = i < count ? round_sub(v[i], mean) : 0.0F;
    squares[i] = round_mul(v[i], v[i]);
  }
  const float2 sums = sum_of_block(make_float2(sum_of_8(v), sum_of_8(squares)), partial_squares);
  const RowStatistics row = row_statistics(sums.x, sums.y, n, args.epsilon);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = scale_centered(round_sub(v[i], row.shift), row.scale, gain[i]);
    if (args.bias != nullptr) v[i] = round_add(v[i], bias[i]);
  }
}

}  // namespace abba::cuda
