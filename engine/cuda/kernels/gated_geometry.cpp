#include <limits>

#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/gated_tile.h"

namespace abba::cuda {
namespace {

constexpr std::int64_t kMultiprocessors = 132;

template <typename Tile>
std::int64_t blocks_of(std::int64_t rows, std::int64_t columns) {
  return ceil_div(rows, Tile::kRows) * ceil_div(columns, Tile::kColumns);
}

template <typename Tile>
Geometry geometry_of(std::int64_t rows, std::int64_t columns) {
  return {{ceil_div(columns, Tile::kColumns), ceil_div(rows, Tile::kRows), 1},
          {Tile::kThreads, 1, 1},
          Tile::kSharedBytes};
}

}  // namespace

std::string_view gated_product_refusal(std::int64_t rows, std::int64_t columns,
                                       std::int64_t depth) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  if (rows < 0 || columns <= 0 || depth <= 0) return "a product has columns, a depth and rows >= 0";
  if (depth % 8 != 0 || columns % 2 != 0) {
    return "the gated kernel moves 16 bytes of a row at a time and writes two columns: the depth "
           "must be a multiple of 8, the columns of 2";
  }
  if (columns > kMost || depth > kMost)
    return "the gated kernel counts columns and depth in 32 bits";
  if (rows > kMostGridYz * SmallGatedTile::kRows) return "a grid has at most 65535 blocks of rows";
  return {};
}

GatedTile best_gated_tile(std::int64_t rows, std::int64_t columns) {
  if (blocks_of<LargeGatedTile>(rows, columns) >= 3 * kMultiprocessors / 2) {
    return GatedTile::k128x128;
  }
  if (blocks_of<MediumGatedTile>(rows, columns) >= kMultiprocessors) return GatedTile::k64x64;
  return GatedTile::k64x32;
}

Geometry gated_product_geometry(GatedTile tile, std::int64_t rows, std::int64_t columns) {
  switch (tile) {
    case GatedTile::k128x128:
      return geometry_of<LargeGatedTile>(rows, columns);
    case GatedTile::k64x64:
      return geometry_of<MediumGatedTile>(rows, columns);
    default:
      return geometry_of<SmallGatedTile>(rows, columns);
  }
}

}  // namespace abba::cuda
