// Attention's launch geometry and index arithmetic: which rows a block takes, which keys a row
// sees, which tiles of keys a block loads. Pure functions, compiled for the host and the device, so
// that what decides the mask is tested without a GPU. Positions and counts fit an int: the launcher
// refuses more keys than kMostAttentionKeys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/geometry.h"
#include "engine/ops/problem.h"

#ifdef __CUDACC__
#define ABBA_HOST_DEVICE __host__ __device__
#else
#define ABBA_HOST_DEVICE
#endif

namespace abba::cuda {

// The longest row of any ModernBERT; keys and queries alike. Every row's offset fits an int.
inline constexpr std::int64_t kMostAttentionKeys = 8192;
inline constexpr std::int64_t kMostAttentionHeads = 64;
inline constexpr std::int64_t kMostElements = 4294967295;  // of any tensor: 2^32 - 1

// Query rows a block of the bf16 kernel takes. Every choice gives the same bits: a row's arithmetic
// does not depend on the rows beside it. More rows read keys less often, fewer make more blocks.
enum class AttentionTile { kRows16, kRows64, kRows128 };

inline constexpr int kKeyTile = 64;       // keys loaded at a time
inline constexpr int kAttentionRing = 4;  // tiles of keys, with their values, in shared memory
inline constexpr std::size_t kAttentionSlotBytes = 16384;  // 64 keys and 64 values, bf16
inline constexpr int kPlainAttentionRows = 16;             // query rows of a block, fp32 kernel

// What a launch needs to know of either attention problem.
struct AttentionExtent {
  std::int64_t batch = 0;
  std::int64_t queries = 0;  // per batch row
  std::int64_t keys = 0;
  std::int64_t heads = 0;
  std::int64_t half_window = ops::kFullAttention;
};

inline AttentionExtent extent_of(const ops::AttentionProblem& p) {
  return {p.batch, p.length, p.length, p.heads, p.half_window};
}
inline AttentionExtent extent_of(const ops::SubsetAttentionProblem& p) {
  return {p.batch, p.queries, p.keys, p.heads, ops::kFullAttention};
}

int rows_of(AttentionTile tile);
// The widest tile that still fills the GPU. From sizes alone, for any chip: it decides no bit.
AttentionTile best_attention_tile(const AttentionExtent& extent);
Geometry attention_geometry(const AttentionExtent& extent, AttentionTile tile);  // bf16
Geometry plain_attention_geometry(const AttentionExtent& extent);                // fp32
// The most tiles of keys that a block of `rows` queries can see.
std::int64_t most_key_tiles(const AttentionExtent& extent, std::int64_t rows);

// ---- shared with the device ----------------------------------------------------------------

// Keys or tiles [begin, end); empty if begin >= end.
struct KeyRange {
  int begin;
  int end;
};

ABBA_HOST_DEVICE constexpr int lesser(int a, int b) {
  return a < b ? a : b;
}
ABBA_HOST_DEVICE constexpr int greater(int a, int b) {
  return a > b ? a : b;
}

// How far a query sees to either side: a window no row can outgrow where there is none. The sum of
// two fits an unsigned, that with any position an int.
ABBA_HOST_DEVICE constexpr int reach_of(int half_window) {
  return half_window < 0 ? 1 << 30 : lesser(half_window, 1 << 30);
}

// Whether the query at `key - offset` sees `key`.
ABBA_HOST_DEVICE constexpr bool is_visible(int key, int offset, int reach, int keys) {
  const bool is_within = static_cast<unsigned>(offset + reach) <= 2U * static_cast<unsigned>(reach);
  return is_within && key < keys;
}

// Keys that any of the query positions [first, last] sees, of `keys` real ones.
ABBA_HOST_DEVICE constexpr KeyRange visible_keys(int first, int last, int half_window, int keys) {
  const int reach = reach_of(half_window);
  return {greater(0, first - reach), lesser(keys, last + reach + 1)};
}

ABBA_HOST_DEVICE constexpr KeyRange tiles_of(KeyRange keys) {
  if (keys.begin >= keys.end) return {0, 0};
  return {keys.begin / kKeyTile, (keys.end + kKeyTile - 1) / kKeyTile};
}

enum class TileView { kHidden, kPartly, kWhole };

// How much of key tile `tile` the query positions [first, last] see: nothing of it, some, or every
// key of it from every position.
ABBA_HOST_DEVICE constexpr TileView view_of_tile(int tile, int first, int last, int half_window,
                                                 int keys) {
  const int begin = tile * kKeyTile;
  const int end = begin + kKeyTile;
  const KeyRange any = visible_keys(first, last, half_window, keys);
  if (begin >= any.end || end <= any.begin) return TileView::kHidden;
  const KeyRange of_first = visible_keys(first, first, half_window, keys);
  const KeyRange of_last = visible_keys(last, last, half_window, keys);
  const bool is_whole = of_last.begin <= begin && end <= of_first.end;
  return is_whole ? TileView::kWhole : TileView::kPartly;
}

// Queries of a batch row that are real: the others are padding and give zeros.
ABBA_HOST_DEVICE constexpr int real_queries(int queries, int keys, bool are_queries_keys) {
  return are_queries_keys ? lesser(queries, keys) : queries;
}

// A length read on the device, brought into [0, most]: a wrong one must not read out of bounds.
ABBA_HOST_DEVICE constexpr int keys_in_bounds(int length, int most) {
  return greater(0, lesser(length, most));
}

// The place of a block: blocks of one head of one batch row follow one another, so that they find
// its keys in the cache.
struct AttentionPlace {
  int batch;
  int head;
  int first_row;
};
ABBA_HOST_DEVICE constexpr AttentionPlace place_of(unsigned block, int heads, int queries,
                                                   int rows) {
  const unsigned tiles = (static_cast<unsigned>(queries) + rows - 1U) / rows;
  const unsigned unit = block / tiles;
  return {static_cast<int>(unit / heads), static_cast<int>(unit % heads),
          static_cast<int>(block % tiles) * rows};
}

// Byte offset of 16-byte piece `piece` (8 of them a row) of row `row` in a shared tile of 128-byte
// rows: the pieces of 8 rows that one ldmatrix reads lie in 8 different bank groups.
ABBA_HOST_DEVICE constexpr int swizzled(int row, int piece) {
  return row * 128 + ((piece ^ (row & 7)) << 4);
}

}  // namespace abba::cuda
