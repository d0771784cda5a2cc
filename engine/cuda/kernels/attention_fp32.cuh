// Attention of fp32 heads of 64, for checking.
//
// Formula: s = q k^T, m = max of the visible s, p = exp((s - m) / 8), o = (sum of p v) / (sum of
// p),
//   all in fp32 with fused multiply-adds and the accurate exponential.
// Mapping: a block takes 16 queries of one head of one batch row, a warp four of them; a lane owns
//   one of 32 keys while scores are made and two of 64 columns while values are added. The keys are
//   walked twice, the first time for the maximum.
// Work: 6 * 64 flops per visible (query, key); k is read twice and v once from memory per block of
//   16 queries. Bound by shared memory: one load for four multiply-adds.
// In place: as in attention_bf16.cuh; nothing is copied; keys beyond the length are not read.
// Preconditions: attention_refusal() says nothing.
// Exactness: bitwise the same for every subset of the queries, same reasons as there.
// Best figure seen: none; not for speed.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/attention_args.h"
#include "engine/cuda/kernels/attention_geometry.h"

namespace abba::cuda {

inline constexpr int kPlainTile = 32;     // keys at a time, one a lane
inline constexpr int kPlainWarpRows = 4;  // queries of a warp

struct PlainTiles {
  float q[kPlainAttentionRows][64];
  float k[kPlainTile][65];  // one more: lanes read one column of 32 rows at a time
  float v[kPlainTile][64];
};

struct PlainRow {
  float top;
  float sum;     // of this lane's keys
  float out[2];  // columns lane and lane + 32
};

__device__ inline void load_plain_rows(float* to, int to_stride, int count, const float* from,
                                       int from_stride, int first, int end) {
  for (int i = static_cast<int>(threadIdx.x); i < count * 64; i += static_cast<int>(blockDim.x)) {
    const int row = first + i / 64;
    to[i / 64 * to_stride + i % 64] =
        row < end ? from[std::int64_t{row} * from_stride + i % 64] : 0.0F;
  }
}

// Scores of the warp's rows with this lane's key; -inf where a row does not see it.
__device__ inline void score_plain(const PlainTiles& tiles, const AttentionArgs& args,
                                   int first_row, int key, int keys,
                                   float (&scores)[kPlainWarpRows]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (float& score : scores) score = 0.0F;
  for (int d = 0; d < 64; ++d) {
    const float value = tiles.k[lane][d];
#pragma unroll
    for (int r = 0; r < kPlainWarpRows; ++r) {
      scores[r] = fmaf(tiles.q[warp * kPlainWarpRows + r][d], value, scores[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < kPlainWarpRows; ++r) {
    const KeyRange visible = visible_keys(first_row + r, first_row + r, args.half_window, keys);
    if (key < visible.begin || key >= visible.end) scores[r] = -INFINITY;
  }
}

__device__ inline void weigh_plain(const PlainTiles& tiles, PlainRow (&rows)[kPlainWarpRows],
                                   const float (&scores)[kPlainWarpRows]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float weights[kPlainWarpRows];
#pragma unroll
  for (int r = 0; r < kPlainWarpRows; ++r) {
    weights[r] = expf((scores[r] - rows[r].top) * ops::kAttentionScale);
    rows[r].sum += weights[r];
  }
  for (int j = 0; j < kPlainTile; ++j) {
    const float low = tiles.v[j][lane];
    const float high = tiles.v[j][lane + 32];
#pragma unroll
    for (int r = 0; r < kPlainWarpRows; ++r) {
      const float weight = __shfl_sync(0xffffffffU, weights[r], j);
      rows[r].out[0] = fmaf(weight, low, rows[r].out[0]);
      rows[r].out[1] = fmaf(weight, high, rows[r].out[1]);
    }
  }
}

__device__ inline void join_plain_tops(PlainRow (&rows)[kPlainWarpRows]) {
#pragma unroll
  for (PlainRow& row : rows) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      row.top = fmaxf(row.top, __shfl_xor_sync(0xffffffffU, row.top, lanes));
    }
  }
}

__device__ inline void store_plain(PlainRow (&rows)[kPlainWarpRows], const AttentionArgs& args,
                                   float* out, int first_row, int real) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int r = 0; r < kPlainWarpRows; ++r) {
    float sum = rows[r].sum;
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
    const int row = first_row + r;
    if (row >= args.queries) continue;
    float* to = out + std::int64_t{row} * args.out_row_stride + lane;
    to[0] = row < real ? __fdiv_rn(rows[r].out[0], sum) : 0.0F;
    to[32] = row < real ? __fdiv_rn(rows[r].out[1], sum) : 0.0F;
  }
}

__global__ void __launch_bounds__(128) attention_fp32_kernel(const AttentionArgs args) {
  __shared__ PlainTiles tiles;
  const AttentionPlace place = place_of(blockIdx.x, args.heads, args.queries, kPlainAttentionRows);
  const int keys = keys_in_bounds(args.lengths[place.batch], args.keys);
  const int real = keys == 0 ? 0 : real_queries(args.queries, keys, args.are_queries_keys);
  const int head = place.head * static_cast<int>(ops::kHeadDim);
  const auto* q = static_cast<const float*>(args.q) + place.batch * args.q_batch_stride + head;
  const auto* k = static_cast<const float*>(args.k) + place.batch * args.kv_batch_stride + head;
  const auto* v = static_cast<const float*>(args.v) + place.batch * args.kv_batch_stride + head;
  auto* out = static_cast<float*>(args.out) + place.batch * args.out_batch_stride +
              std::int64_t{place.head} * args.out_head_stride;

  const int last = lesser(place.first_row + kPlainAttentionRows, real) - 1;
  const KeyRange seen = last < place.first_row
                            ? KeyRange{0, 0}
                            : visible_keys(place.first_row, last, args.half_window, keys);
  const int first_row = place.first_row + static_cast<int>(threadIdx.x) / 32 * kPlainWarpRows;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  load_plain_rows(tiles.q[0], 64, kPlainAttentionRows, q, args.q_row_stride, place.first_row, real);
  PlainRow rows[kPlainWarpRows];
#pragma unroll
  for (PlainRow& row : rows) row = {-INFINITY, 0.0F, {0.0F, 0.0F}};
  for (int walk = 0; walk < 2; ++walk) {
    if (walk == 1) join_plain_tops(rows);
    for (int key = seen.begin / kPlainTile * kPlainTile; key < seen.end; key += kPlainTile) {
      __syncthreads();
      load_plain_rows(tiles.k[0], 65, kPlainTile, k, args.kv_row_stride, key, keys);
      if (walk == 1) {
        load_plain_rows(tiles.v[0], 64, kPlainTile, v, args.kv_row_stride, key, keys);
      }
      __syncthreads();
      float scores[kPlainWarpRows];
      score_plain(tiles, args, first_row, key + lane, keys, scores);
      if (walk == 1) {
        weigh_plain(tiles, rows, scores);
        continue;
      }
#pragma unroll
      for (int r = 0; r < kPlainWarpRows; ++r) rows[r].top = fmaxf(rows[r].top, scores[r]);
    }
  }
  store_plain(rows, args, out, first_row, real);
}

}  // namespace abba::cuda
