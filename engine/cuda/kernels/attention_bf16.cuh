// Attention of bf16 heads of 64 on tensor cores.
//
// Formula: s = q k^T (fp32), m = max of the visible s, p = exp((s - m) / 8), l = sum of p
//   unrounded, o = bf16((sum of bf16(p) v) / l). The maximum is the row's true one, as the rounding
//   of p to bf16 needs it: the keys are walked twice, the first time for m alone. (One walk with a
//   running maximum saves a third of the products but rounds other values of p.)
// Mapping: a block takes 16 kBlocks kWarps queries of one head of one batch row (place_of), a warp
//   16 kBlocks of them and every visible key. Tiles of 64 keys and values come through a ring of
//   kAttentionRing slots, backwards in the first walk; if all visible tiles fit in the ring, the
//   second walk finds its keys there, and it finds the scores of its first tile in registers. Tiles
//   that no query of the block sees are not loaded, those that no query of a warp sees are not
//   multiplied by it.
// Work: 6 * 64 flops per visible (query, key) in tiles of 64, one exp; bytes: q and out once, the
//   visible tiles of k twice (once if they fit in the ring) and of v once for every block. At long
//   rows bound by shared memory and tensor cores, at short ones by latency.
// In place: q, k, v, lengths are read where they lie (rows of 64 side by side, any row stride that
//   keeps 16-byte alignment); out is written by its strides in either layout; nothing is copied.
//   Keys at and beyond the length are not read: their place in shared memory is zero and their p
//   is 0. A valid value that is NaN or infinite reaches every query that sees it, and may reach
//   queries of the same warp that see only other keys of its tile.
// Preconditions: attention_refusal() says nothing.
// Exactness: bitwise the same for every kWarps and kBlocks and for every subset of the queries: a
//   row adds its keys in order, 16 at a time, and masked keys add zero. Nothing is added across
//   warps.
// Best figure seen: H200 (reports/baseline_profile_h200, head-major, launch included): 1 x 48 x 16
//   heads 4.0 us; 1 x 464 x 16 13.2 us full, 7.1 us windowed; 8 x 187 x 12 10.7 us. 32 x 512 x 16:
//   240 us full, 116 us windowed at 66fcc79 while other tests used the GPU too; not yet alone.
#pragma once

#include "engine/cuda/kernels/attention_args.h"
#include "engine/cuda/kernels/attention_geometry.h"
#include "engine/cuda/kernels/attention_mma.cuh"
#include "engine/cuda/kernels/attention_quotient.h"
#include "engine/cuda/kernels/attention_warp.cuh"

namespace abba::cuda {

// 64 rows of 64 values from `from` (row `first` of `keys`) to a shared tile; zeros beyond `keys`.
template <int kThreads>
__device__ inline void load_tile(std::uint32_t to, const __nv_bfloat16* from, int row_stride,
                                 int first, int keys) {
  const int piece = static_cast<int>(threadIdx.x) % 8;
  const int first_row = static_cast<int>(threadIdx.x) / 8;
  const __nv_bfloat16* at = from + std::int64_t{first + first_row} * row_stride + piece * 8;
#pragma unroll
  for (int row = 0; row < kKeyTile; row += kThreads / 8) {
    copy_16_async(to + swizzled(first_row + row, piece), at + std::int64_t{row} * row_stride,
                  first + first_row + row < keys);
  }
}

// The tiles that a block visits, backwards and then forwards, and where each lies in shared memory.
struct AttentionWalk {
  KeyRange tiles;
  int count;      // tiles
  bool all_stay;  // every tile has a slot of its own
  __device__ int steps() const { return 2 * count; }
  __device__ int tile(int step) const {
    return step < count ? tiles.end - 1 - step : tiles.begin + step - count;
  }
  __device__ int slot(int step) const {
    return all_stay ? tile(step) - tiles.begin : step % kAttentionRing;
  }
  __device__ Walk purpose(int step) const {
    if (step < count) return Walk::kForTops;
    return step == count ? Walk::kForValuesOfKeptScores : Walk::kForValues;
  }
};

__device__ inline AttentionWalk walk_over(KeyRange keys) {
  const KeyRange tiles = tiles_of(keys);
  const int count = tiles.end - tiles.begin;
  return {tiles, count, count <= kAttentionRing};
}

// Begins to load what step `step` needs and nothing did before; always one group of copies.
template <int kThreads>
__device__ inline void load_step(const AttentionWalk& walk, int step, const AttentionArgs& args,
                                 const __nv_bfloat16* k, const __nv_bfloat16* v, int keys,
                                 std::uint32_t ring) {
  if (step < walk.steps()) {
    const std::uint32_t slot = ring + walk.slot(step) * static_cast<int>(kAttentionSlotBytes);
    const int first = walk.tile(step) * kKeyTile;
    const Walk purpose = walk.purpose(step);
    if (purpose == Walk::kForTops || (purpose == Walk::kForValues && !walk.all_stay)) {
      load_tile<kThreads>(slot, k, args.kv_row_stride, first, keys);
    }
    if (purpose != Walk::kForTops) {
      load_tile<kThreads>(slot + kHalfSlotBytes, v, args.kv_row_stride, first, keys);
    }
  }
  commit_copies();
}

// Lays the warp's rows out in shared memory and writes them 16 bytes a thread, 128 a row; padding
// rows become zeros whatever was computed for them.
template <int kBlocks>
__device__ inline void store_rows(const AttentionRows<kBlocks>& rows, const AttentionArgs& args,
                                  __nv_bfloat16* out, unsigned char* memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kBlocks * 16; ++i) {
    const int block = i / 16;
    const int half = i / 8 % 2;
    const int row = 16 * block + 8 * half + lane / 4;
    const float sum = rows.sum[block][half];
    const float inverse = reciprocal(sum);  // once for each of the two halves: i is known
    const float* pair = &rows.out[block][i % 8][2 * half];
    const std::uint32_t packed =
        pack_bf16(quotient(pair[0], sum, inverse), quotient(pair[1], sum, inverse));
    *reinterpret_cast<std::uint32_t*>(memory + swizzled(row, i % 8) + lane % 4 * 4) =
        rows.first + row <= rows.last ? packed : 0U;
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kBlocks * 4; ++i) {
    const int row = 4 * i + lane / 8;
    if (rows.first + row >= args.queries) continue;
    const uint4 piece = *reinterpret_cast<const uint4*>(memory + swizzled(row, lane % 8));
    __nv_bfloat16* to = out + std::int64_t{rows.first + row} * args.out_row_stride;
    *reinterpret_cast<uint4*>(to + lane % 8 * 8) = piece;
  }
}

template <int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps * 32, kBlocks == 2 ? 2 : 1)
    attention_bf16_kernel(const AttentionArgs args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int kRows = 16 * kBlocks * kWarps;
  const AttentionPlace place = place_of(blockIdx.x, args.heads, args.queries, kRows);
  const int keys = keys_in_bounds(args.lengths[place.batch], args.keys);
  const int real = keys == 0 ? 0 : real_queries(args.queries, keys, args.are_queries_keys);
  const int head = place.head * static_cast<int>(ops::kHeadDim);
  const auto* q = static_cast<const __nv_bfloat16*>(args.q) + place.batch * args.q_batch_stride;
  const auto* k = static_cast<const __nv_bfloat16*>(args.k) + place.batch * args.kv_batch_stride;
  const auto* v = static_cast<const __nv_bfloat16*>(args.v) + place.batch * args.kv_batch_stride;
  auto* out = static_cast<__nv_bfloat16*>(args.out) + place.batch * args.out_batch_stride +
              std::int64_t{place.head} * args.out_head_stride;

  const int last = lesser(place.first_row + kRows, real) - 1;
  const bool is_idle = last < place.first_row;
  const AttentionWalk walk = walk_over(
      is_idle ? KeyRange{0, 0} : visible_keys(place.first_row, last, args.half_window, keys));
  const std::uint32_t ring = shared_address(memory);
#pragma unroll 1
  for (int step = 0; step < kAttentionRing - 1; ++step) {
    load_step<kWarps * 32>(walk, step, args, k + head, v + head, keys, ring);
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  AttentionRows<kBlocks> rows;
  ScoreTile<kBlocks> scores;
  start_rows(rows, args, q + head, place.first_row + 16 * kBlocks * warp, real, keys);
  for (int step = 0; step < walk.steps(); ++step) {
    wait_copies<kAttentionRing - 2>();
    __syncthreads();  // step's tile has arrived for all, and all are done with the one before
    load_step<kWarps * 32>(walk, step + kAttentionRing - 1, args, k + head, v + head, keys, ring);
    if (step == walk.count) join_tops(rows);
    const std::uint32_t slot = ring + walk.slot(step) * static_cast<int>(kAttentionSlotBytes);
    visit_tile(rows, scores, walk.purpose(step), slot, walk.tile(step));
  }
  join_sums(rows);
  __syncthreads();  // the ring becomes the place of the outputs
  store_rows(rows, args, out, memory + warp * kBlocks * 2048);
}

}  // namespace abba::cuda
