#include "engine/cuda/kernels/attention_geometry.h"

#include <algorithm>

namespace abba::cuda {
namespace {

// Blocks that keep 132 multiprocessors busy: about one each of 64 rows, four each of 128 rows.
constexpr std::int64_t kBlocksOfRows64 = 96;
constexpr std::int64_t kBlocksOfRows128 = 528;

std::int64_t blocks(const AttentionExtent& extent, std::int64_t rows) {
  if (extent.queries <= 0) return 0;
  return extent.batch * extent.heads * ceil_div(extent.queries, rows);
}

std::int64_t threads_of(AttentionTile tile) {
  return tile == AttentionTile::kRows16 ? 32 : 128;
}

}  // namespace

int rows_of(AttentionTile tile) {
  switch (tile) {
    case AttentionTile::kRows16:
      return 16;
    case AttentionTile::kRows64:
      return 64;
    default:
      return 128;
  }
}

AttentionTile best_attention_tile(const AttentionExtent& extent) {
  // Where a window hides tiles, the more rows a block has the more of them its warps wait through.
  const bool is_cut = most_key_tiles(extent, 128) < ceil_div(extent.keys, kKeyTile);
  if (!is_cut && extent.queries > 64 && blocks(extent, 128) >= kBlocksOfRows128) {
    return AttentionTile::kRows128;
  }
  if (extent.queries > 16 && blocks(extent, 64) >= kBlocksOfRows64) return AttentionTile::kRows64;
  return AttentionTile::kRows16;
}

std::int64_t most_key_tiles(const AttentionExtent& extent, std::int64_t rows) {
  const std::int64_t all = ceil_div(extent.keys, kKeyTile);
  if (extent.half_window < 0 || extent.half_window >= extent.keys) return all;
  // Any alignment: a run of n keys touches one tile more than n - 1 whole ones.
  const std::int64_t seen = std::min(rows, extent.queries) + 2 * extent.half_window;
  return std::min(all, ceil_div(seen - 1, kKeyTile) + 1);
}

Geometry attention_geometry(const AttentionExtent& extent, AttentionTile tile) {
  const std::int64_t slots =
      std::clamp<std::int64_t>(most_key_tiles(extent, rows_of(tile)), 1, kAttentionRing);
  return {{blocks(extent, rows_of(tile))},
          {threads_of(tile)},
          static_cast<std::size_t>(slots) * kAttentionSlotBytes};
}

Geometry plain_attention_geometry(const AttentionExtent& extent) {
  return {{blocks(extent, kPlainAttentionRows)}, {128}};
}

}  // namespace abba::cuda
