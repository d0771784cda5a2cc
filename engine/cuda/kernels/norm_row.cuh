// The layer norm of one row by one block, the row in registers from its one reading to its writing.
// Used by layer_norm.cu (also as add_norm) and embed_norm.cu. A thread has two quads of
// neighbouring columns, half a row apart: a warp then reads and writes fp32 and 16-bit types
// without gaps.
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

// What all norm kernels read besides the row. `in_vectors`: rows can be cut into quads and every
// address is a multiple of 16 bytes; otherwise the same threads read the same columns one by one.
struct NormArgs {
  const float* gain;
  const float* bias;  // may be null
  int hidden;
  float epsilon;
  bool in_vectors;
};

using Quads = float[2][4];

__device__ inline int column_of_quad(int quad) {
  return (quad * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 4;
}
// The thread's columns of `row`; zeros beyond its end.
template <typename T>
__device__ inline void load_quads(const T* row, const NormArgs& args, Quads& to) {
#pragma unroll
  for (int quad = 0; quad < 2; ++quad) {
    const int column = column_of_quad(quad);
    load_some(row + column, args.hidden - column, args.in_vectors, to[quad]);
  }
}
template <typename T>
__device__ inline void store_quads(T* row, const NormArgs& args, const Quads& from) {
#pragma unroll
  for (int quad = 0; quad < 2; ++quad) {
    const int column = column_of_quad(quad);
    store_some(row + column, args.hidden - column, args.in_vectors, from[quad]);
  }
}
__device__ inline float sum_of_quads(const Quads& v) {
  return round_add(sum_of_4(v[0]), sum_of_4(v[1]));
}

// v: in, the thread's columns of the row; out, the norm's. All threads of the block call it.
__device__ inline void normalize_row(const NormArgs& args, Quads& v) {
  __shared__ float partial_sums[kNormWarps];
  __shared__ float2 partial_squares[kNormWarps];
  Quads gain;
  Quads bias = {};
  load_quads(args.gain, args, gain);  // on their way while the sums are
  if (args.bias != nullptr) load_quads(args.bias, args, bias);
  const auto n = static_cast<float>(args.hidden);
  const float mean = sum_of_block(sum_of_quads(v), partial_sums) / n;
  Quads squares;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const bool is_inside = column_of_quad(i / 4) + i % 4 < args.hidden;
    float& d = v[i / 4][i % 4];
    d = is_inside ? round_sub(d, mean) : 0.0F;
    squares[i / 4][i % 4] = round_mul(d, d);
  }
  const float2 sums =
      sum_of_block(make_float2(sum_of_quads(v), sum_of_quads(squares)), partial_squares);
  const RowStatistics row = row_statistics(sums.x, sums.y, n, args.epsilon);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float& y = v[i / 4][i % 4];
    y = scale_centered(round_sub(y, row.shift), row.scale, gain[i / 4][i % 4]);
    if (args.bias != nullptr) y = round_add(y, bias[i / 4][i % 4]);
  }
}

}  // namespace abba::cuda
