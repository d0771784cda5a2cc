// Attention of one head: fp32 scores times 0.125, softmax with the row maximum taken out, the
// unnormalised weights rounded to act, their sum not; o = act(sum / l).
// Both products run through one register tile of kTileRows rows by two vectors, over operands
// packed so that the tile reads them in address order: keys as [tile][64][columns], values as
// [slice][key][columns]. A score adds its 64 products in order of d, an output adds its keys in
// order of j, and the sum of a row is laid out by j modulo the lanes: no bit of a row depends on
// which other rows are computed with it, which is what makes a subset of queries bitwise equal to
// all of them.
#pragma once

#include "engine/cpu/kernels.h"
#include "engine/cpu/vector_math.h"

namespace abba::cpu::ABBA_CPU_ISA {

inline constexpr std::int64_t kTileRows = kLanes == 8 ? 6 : 12;  // of 16 or 32 registers
inline constexpr std::int64_t kTileColumns = 2 * kLanes;
inline constexpr std::int64_t kHeadDim = ops::kHeadDim;

inline std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}
inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
inline std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

// c[r, 0..kTileColumns) = sum over k of a[r, k] * b[k, 0..kTileColumns), k ascending.
inline void multiply_tile(const float* a, std::int64_t a_stride, const float* b, std::int64_t depth,
                          float* c, std::int64_t c_stride) {
  Vec sum[kTileRows][2];
  for (auto& row : sum) row[0] = row[1] = broadcast(0.0F);
  for (std::int64_t k = 0; k < depth; ++k) {
    const Vec left = load(b + k * kTileColumns);
    const Vec right = load(b + k * kTileColumns + kLanes);
#pragma GCC unroll 12
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const Vec factor = broadcast(a[r * a_stride + k]);
      sum[r][0] = fma(factor, left, sum[r][0]);
      sum[r][1] = fma(factor, right, sum[r][1]);
    }
  }
#pragma GCC unroll 12
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    store(c + r * c_stride, sum[r][0]);
    store(c + r * c_stride + kLanes, sum[r][1]);
  }
}

// Where the parts of the scratch lie; keys is rounded up to whole tiles.
struct AttentionScratch {
  float* keys;     // [padded / kTileColumns][64][kTileColumns]
  float* values;   // [64 / kTileColumns][padded][kTileColumns]
  float* scores;   // [kTileRows][score_stride]
  float* queries;  // [kTileRows][64]
  float* outputs;  // [kTileRows][64]
  std::int64_t padded;
  std::int64_t score_stride;  // one cache line more: rows 2 KB apart would share cache sets
};

template <typename Act>
AttentionScratch lay_out(const AttentionArgs<Act>& args) {
  AttentionScratch s{};
  s.padded = round_up(args.keys, kTileColumns);
  s.keys = args.scratch;
  s.values = s.keys + s.padded * kHeadDim;
  s.scores = s.values + s.padded * kHeadDim;
  s.score_stride = s.padded + 16;
  s.queries = s.scores + s.score_stride * kTileRows;
  s.outputs = s.queries + kTileRows * kHeadDim;
  return s;
}

template <typename Act>
void pack_keys_and_values(const AttentionArgs<Act>& args, const AttentionScratch& s) {
  for (std::int64_t j = 0; j < s.padded; ++j) {
    float key[kHeadDim] = {};
    if (j < args.keys) {
      for (std::int64_t d = 0; d < kHeadDim; d += kLanes) {
        store(key + d, load(args.k + j * args.kv_stride + d));
        const std::int64_t at = d / kTileColumns * s.padded * kTileColumns + j * kTileColumns;
        store(s.values + at + d % kTileColumns, load(args.v + j * args.kv_stride + d));
      }
    }
    float* column = s.keys + j / kTileColumns * kTileColumns * kHeadDim + j % kTileColumns;
    for (std::int64_t d = 0; d < kHeadDim; ++d) column[d * kTileColumns] = key[d];
  }
}

// The keys that query `i` sees; empty if begin >= end.
template <typename Act>
Range visible_keys(const AttentionArgs<Act>& args, std::int64_t i) {
  if (args.half_window < 0) return {0, args.keys};
  return {larger(0, i - args.half_window), smaller(args.keys, i + args.half_window + 1)};
}

// Turns the scores of one row into weights, in place; zeros outside `visible`, which is not empty,
// within `computed` (multiples of kTileColumns). Returns the sum of the weights before they are
// rounded. The maximum may drop a NaN, the weights do not: a NaN among the visible scores makes the
// sum one, and with it the whole row of the output.
template <typename Act>
float softmax_row(float* row, Range visible, Range computed) {
  const Vec lowest = broadcast(-__builtin_inff());
  for (std::int64_t j = computed.begin; j < visible.begin; ++j) row[j] = -__builtin_inff();
  for (std::int64_t j = visible.end; j < computed.end; ++j) row[j] = -__builtin_inff();
  Vec best = lowest;
  for (std::int64_t j = computed.begin; j < computed.end; j += kLanes)
    best = max(best, load(row + j));
  const Vec scale = broadcast(ops::kAttentionScale);
  const Vec top = broadcast(max_lanes(best) * ops::kAttentionScale);
  Vec sum = broadcast(0.0F);
  for (std::int64_t j = computed.begin; j < computed.end; j += kLanes) {
    const Vec weight = exp_nonpositive(sub(mul(load(row + j), scale), top));
    sum = add(sum, weight);
    store(row + j, round_as(static_cast<const Act*>(nullptr), weight));
  }
  return sum_lanes(sum);
}

template <typename Act>
void store_zeros(Act* out) {
  for (std::int64_t d = 0; d < kHeadDim; d += kLanes) store(out + d, broadcast(0.0F));
}

// Queries [first, first + count), count <= kTileRows.
template <typename Act>
void attend_block(const AttentionArgs<Act>& args, const AttentionScratch& s, std::int64_t first,
                  std::int64_t count) {
  Range all = visible_keys(args, first);
  all.end = larger(all.end, visible_keys(args, first + count - 1).end);
  if (all.begin >= all.end) {
    for (std::int64_t r = 0; r < count; ++r) store_zeros(args.out + (first + r) * args.out_stride);
    return;
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {  // rows beyond count repeat the last one
    const Act* from = args.q + (first + smaller(r, count - 1)) * args.q_stride;
    for (std::int64_t d = 0; d < kHeadDim; d += kLanes)
      store(s.queries + r * kHeadDim + d, load(from + d));
  }
  const Range computed = {all.begin / kTileColumns * kTileColumns, round_up(all.end, kTileColumns)};
  for (std::int64_t j = computed.begin; j < computed.end; j += kTileColumns) {
    multiply_tile(s.queries, kHeadDim, s.keys + j * kHeadDim, kHeadDim, s.scores + j,
                  s.score_stride);
  }
  float sums[kTileRows];
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    const Range visible = visible_keys(args, first + smaller(r, count - 1));
    sums[r] = softmax_row<Act>(s.scores + r * s.score_stride, visible, computed);
  }
  for (std::int64_t slice = 0; slice < kHeadDim / kTileColumns; ++slice) {
    const float* values = s.values + (slice * s.padded + all.begin) * kTileColumns;
    multiply_tile(s.scores + all.begin, s.score_stride, values, all.end - all.begin,
                  s.outputs + slice * kTileColumns, kHeadDim);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    Act* out = args.out + (first + r) * args.out_stride;
    const Vec total = broadcast(sums[r]);
    for (std::int64_t d = 0; d < kHeadDim; d += kLanes) {
      store(out + d, div(load(s.outputs + r * kHeadDim + d), total));
    }
  }
}

template <typename Act>
void attention(const AttentionArgs<Act>& args) {
  const AttentionScratch s = lay_out(args);
  pack_keys_and_values(args, s);
  const std::int64_t real = smaller(args.queries, args.zero_from);
  for (std::int64_t i = 0; i < real; i += kTileRows) {
    attend_block(args, s, i, smaller(kTileRows, real - i));
  }
  for (std::int64_t i = larger(0, real); i < args.queries; ++i) {
    store_zeros(args.out + i * args.out_stride);
  }
}

}  // namespace abba::cpu::ABBA_CPU_ISA
