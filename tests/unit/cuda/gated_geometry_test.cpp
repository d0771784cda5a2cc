// Tiles of the gated product: which is taken when, what they cost, what is refused.
#include <gtest/gtest.h>

#include "engine/cuda/kernels/gated_product.h"

namespace abba::cuda {
namespace {

constexpr GatedTile kTiles[] = {GatedTile::k64x32, GatedTile::k64x64, GatedTile::k128x128};

TEST(GatedGeometry, EveryTileCoversEveryOutputAndFitsTheChip) {
  for (const GatedTile tile : kTiles) {
    const std::int64_t down = tile == GatedTile::k128x128 ? 128 : 64;
    const std::int64_t across = tile == GatedTile::k64x32 ? 32 : down;
    for (const std::int64_t rows : {1, 63, 64, 65, 127, 128, 129, 2048}) {
      for (const std::int64_t columns : {2, 32, 34, 64, 66, 128, 130, 2624}) {
        const Geometry geometry = gated_product_geometry(tile, rows, columns);
        EXPECT_TRUE(is_launchable(geometry));
        EXPECT_EQ(geometry.grid.y, ceil_div(rows, down));
        EXPECT_EQ(geometry.grid.x, ceil_div(columns, across));
        EXPECT_LE(geometry.shared_bytes, 227U * 1024U);
      }
    }
    EXPECT_TRUE(gated_product_geometry(tile, 0, 128).is_empty());
  }
}

TEST(GatedGeometry, TheTileGrowsWithTheRows) {
  EXPECT_EQ(best_gated_tile(1, 2624), GatedTile::k64x32);
  EXPECT_EQ(best_gated_tile(48, 2624), GatedTile::k64x32);  // 82 blocks
  EXPECT_EQ(best_gated_tile(176, 2624), GatedTile::k64x32);
  EXPECT_EQ(best_gated_tile(256, 2624), GatedTile::k64x64);
  EXPECT_EQ(best_gated_tile(512, 2624), GatedTile::k64x64);
  EXPECT_EQ(best_gated_tile(1496, 2624), GatedTile::k128x128);  // 252 blocks
  EXPECT_EQ(best_gated_tile(2048, 1152), GatedTile::k64x64);
}

TEST(GatedGeometry, RefusesWhatItCannotCompute) {
  EXPECT_EQ(gated_product_refusal(48, 2624, 1024), "");
  EXPECT_EQ(gated_product_refusal(0, 2, 8), "");
  EXPECT_NE(gated_product_refusal(-1, 2, 8), "");
  EXPECT_NE(gated_product_refusal(48, 2624, 1028), "");
  EXPECT_NE(gated_product_refusal(48, 2624, 0), "");
  EXPECT_NE(gated_product_refusal(48, 131, 1024), "");
  EXPECT_NE(gated_product_refusal(48, 0, 1024), "");
  EXPECT_EQ(gated_product_refusal(64 * kMostGridYz, 2, 8), "");
  EXPECT_NE(gated_product_refusal(64 * kMostGridYz + 1, 2, 8), "");
  EXPECT_NE(gated_product_refusal(1, std::int64_t{1} << 31U, 8), "");
  EXPECT_NE(gated_product_refusal(1, 2, std::int64_t{1} << 31U), "");
}

}  // namespace
}  // namespace abba::cuda
