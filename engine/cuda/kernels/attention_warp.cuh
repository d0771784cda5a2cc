// A warp's part of attention in bf16: 16 kBlocks query rows in registers against tiles of 64 keys
// and values in shared memory. Two walks over the tiles, backwards for the maxima and forwards for
// the values, so that the scores of the first tile are made once; every row's arithmetic is the
// same whatever kBlocks is. Formula and mapping: attention_bf16.cuh.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/attention_args.h"
#include "engine/cuda/kernels/attention_geometry.h"
#include "engine/cuda/kernels/attention_mma.cuh"

namespace abba::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffU;
inline constexpr int kHalfSlotBytes = static_cast<int>(kAttentionSlotBytes) / 2;
// exp((s - m) / 8) = 2^((s - m) log2(e) / 8).
inline constexpr float kExponentScale = 0.125F * 1.4426950408889634F;

// What a thread holds of its warp's 16 kBlocks rows: of each block of 16 the rows lane / 4 and
// lane / 4 + 8, hence the [2].
template <int kBlocks>
struct AttentionRows {
  std::uint32_t q[kBlocks][4][4];  // as the left side of the product, 16 columns at a time
  float out[kBlocks][8][4];        // [16, 64] sums
  float top[kBlocks][2];
  float sum[kBlocks][2];  // this thread's columns only
  int first;              // position of the warp's first row
  int last;               // of its last real one; below first if there is none
  int keys;               // real ones
  int half_window;        // below 0: none
};

template <int kBlocks>
using ScoreTile = float[kBlocks][8][4];  // [16, 64] of each block of rows, 8 columns at a time

template <int kBlocks>
__device__ inline void start_rows(AttentionRows<kBlocks>& rows, const AttentionArgs& args,
                                  const __nv_bfloat16* q, int first, int real, int keys) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  rows.first = first;
  rows.last = lesser(first + 16 * kBlocks, real) - 1;
  rows.keys = keys;
  rows.half_window = args.half_window;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + 16 * block + 8 * half + lane / 4;
      rows.top[block][half] = -INFINITY;
      rows.sum[block][half] = 0.0F;
      const __nv_bfloat16* from = q + std::int64_t{row} * args.q_row_stride + 2 * (lane % 4);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        rows.q[block][i / 2][half + 2 * (i % 2)] =
            row < real ? *reinterpret_cast<const std::uint32_t*>(from + 8 * i) : 0U;
      }
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) rows.out[block][i / 4][i % 4] = 0.0F;
  }
}

// The products of the warp's rows with a tile of keys; `keys` is this lane's address for
// load_matrices. A score adds its columns in order; 8 kBlocks scores advance side by side.
template <int kBlocks>
__device__ inline void multiply_keys(const AttentionRows<kBlocks>& rows, std::uint32_t keys,
                                     ScoreTile<kBlocks>& scores) {
#pragma unroll
  for (int i = 0; i < kBlocks * 32; ++i) scores[i / 32][i / 4 % 8][i % 4] = 0.0F;
#pragma unroll
  for (int step = 0; step < 4; ++step) {
#pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
      std::uint32_t part[4];
      load_matrices(part, (keys + chunk * 2048) ^ (static_cast<std::uint32_t>(step) << 5U));
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        multiply_add(scores[block][2 * chunk], rows.q[block][step], part[0], part[1]);
        multiply_add(scores[block][2 * chunk + 1], rows.q[block][step], part[2], part[3]);
      }
    }
  }
}

// Hides what a row does not see; `key` is the first of the tile.
template <int kBlocks>
__device__ inline void hide_keys(const AttentionRows<kBlocks>& rows, int key,
                                 ScoreTile<kBlocks>& scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int reach = reach_of(rows.half_window);
  const int first_key = key + 2 * (lane % 4);
  const int offset = first_key - (rows.first + lane / 4);
#pragma unroll
  for (int i = 0; i < kBlocks * 32; ++i) {
    const int column = 8 * (i / 4 % 8) + i % 2;
    const int row = 16 * (i / 32) + 8 * (i % 4 / 2);
    const bool is_seen = is_visible(first_key + column, offset + column - row, reach, rows.keys);
    if (!is_seen) scores[i / 32][i / 4 % 8][i % 4] = -INFINITY;
  }
}

// First walk: raises the rows' maxima. fmaxf passes over a NaN; its score makes p and so the row
// NaN in the second walk.
template <int kBlocks>
__device__ inline void raise_tops(AttentionRows<kBlocks>& rows, const ScoreTile<kBlocks>& scores) {
#pragma unroll
  for (int i = 0; i < kBlocks * 32; ++i) {
    float& top = rows.top[i / 32][i % 4 / 2];
    top = fmaxf(top, scores[i / 32][i / 4 % 8][i % 4]);
  }
}

// Second walk: p of one tile in place of the scores, its sum, and p times the values; `values` is
// this lane's address for load_matrices_transposed.
template <int kBlocks>
__device__ inline void weigh_values(AttentionRows<kBlocks>& rows, ScoreTile<kBlocks>& scores,
                                    std::uint32_t values) {
#pragma unroll
  for (int i = 0; i < kBlocks * 32; ++i) {
    const int half = i % 4 / 2;
    float& score = scores[i / 32][i / 4 % 8][i % 4];
    score = power_of_two((score - rows.top[i / 32][half]) * kExponentScale);
    rows.sum[i / 32][half] += score;
  }
#pragma unroll
  for (int chunk = 0; chunk < 4; ++chunk) {
    std::uint32_t weights[kBlocks][4];
#pragma unroll
    for (int i = 0; i < kBlocks * 4; ++i) {
      const float* pair = &scores[i / 4][2 * chunk + i / 2 % 2][i % 2 * 2];
      weights[i / 4][i % 4] = pack_bf16(pair[0], pair[1]);
    }
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t part[4];
      load_matrices_transposed(part,
                               (values + chunk * 2048) ^ (static_cast<std::uint32_t>(step) << 5U));
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        multiply_add(rows.out[block][2 * step], weights[block], part[0], part[1]);
        multiply_add(rows.out[block][2 * step + 1], weights[block], part[2], part[3]);
      }
    }
  }
}

enum class Walk { kForTops, kForValuesOfKeptScores, kForValues };

// One tile in one walk; `slot` is the shared address of its keys, its values follow. `scores` are
// those of the tile visited before, and of this one afterwards.
template <int kBlocks>
__device__ inline void visit_tile(AttentionRows<kBlocks>& rows, ScoreTile<kBlocks>& scores,
                                  Walk walk, std::uint32_t slot, int tile) {
  if (rows.last < rows.first) return;
  const TileView view = view_of_tile(tile, rows.first, rows.last, rows.half_window, rows.keys);
  if (view == TileView::kHidden) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (walk != Walk::kForValuesOfKeptScores) {
    multiply_keys(rows, slot + swizzled(lane % 8 + lane / 16 * 8, lane / 8 % 2), scores);
    if (view == TileView::kPartly) hide_keys(rows, tile * kKeyTile, scores);
  }
  if (walk == Walk::kForTops) return raise_tops(rows, scores);
  weigh_values(rows, scores, slot + kHalfSlotBytes + swizzled(lane % 16, lane / 16));
}

// The maximum and the sum of a row over the four threads that share it.
template <int kBlocks>
__device__ inline void join_tops(AttentionRows<kBlocks>& rows) {
#pragma unroll
  for (int i = 0; i < kBlocks * 2; ++i) {
    float& top = rows.top[i / 2][i % 2];
    top = fmaxf(top, __shfl_xor_sync(kWholeWarp, top, 1));
    top = fmaxf(top, __shfl_xor_sync(kWholeWarp, top, 2));
  }
}
template <int kBlocks>
__device__ inline void join_sums(AttentionRows<kBlocks>& rows) {
#pragma unroll
  for (int i = 0; i < kBlocks * 2; ++i) {
    float& sum = rows.sum[i / 2][i % 2];
    sum += __shfl_xor_sync(kWholeWarp, sum, 1);
    sum += __shfl_xor_sync(kWholeWarp, sum, 2);
  }
}

}  // namespace abba::cuda
