// Attention's index arithmetic against its definition, key by key, and its launch geometry at the
// edges. No GPU.
#include "engine/cuda/kernels/attention_geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>
#include <vector>

#include "engine/base/prng.h"
#include "engine/cuda/kernels/attention_quotient.h"

namespace abba::cuda {
namespace {

// The definition: engine/ops/problem.h.
bool sees(int query, int key, int half_window, int keys) {
  if (key < 0 || key >= keys) return false;
  return half_window < 0 || std::abs(query - key) <= half_window;
}

constexpr int kWindows[] = {-1, 0, 1, 63, 64, 65, 4096};
constexpr int kLengths[] = {1, 2, 63, 64, 65, 66, 128, 130, 200};

TEST(AttentionGeometry, a_query_sees_the_keys_of_the_definition) {
  for (const int window : kWindows) {
    for (const int keys : kLengths) {
      for (int query = 0; query < 260; ++query) {
        const KeyRange range = visible_keys(query, query, window, keys);
        for (int key = -2; key < 262; ++key) {
          ASSERT_EQ(key >= range.begin && key < range.end, sees(query, key, window, keys))
              << "query " << query << " key " << key << " window " << window << " of " << keys;
          if (key < 0) continue;
          ASSERT_EQ(is_visible(key, key - query, reach_of(window), keys),
                    sees(query, key, window, keys))
              << "query " << query << " key " << key << " window " << window << " of " << keys;
        }
      }
    }
  }
}

TEST(AttentionGeometry, an_enormous_window_is_none) {
  const KeyRange range = visible_keys(700, 1023, 2147483647, 1024);
  EXPECT_EQ(range.begin, 0);
  EXPECT_EQ(range.end, 1024);
}

// kHidden, kPartly or kWhole by looking at every pair.
TileView definition_of_view(int tile, int first, int last, int window, int keys) {
  bool any = false;
  bool all = true;
  for (int query = first; query <= last; ++query) {
    for (int key = tile * kKeyTile; key < (tile + 1) * kKeyTile; ++key) {
      const bool is_seen = sees(query, key, window, keys);
      any = any || is_seen;
      all = all && is_seen;
    }
  }
  return all ? TileView::kWhole : any ? TileView::kPartly : TileView::kHidden;
}

TEST(AttentionGeometry, tiles_are_hidden_partly_or_wholly_seen_as_their_pairs_are) {
  std::set<TileView> met;
  for (const int window : kWindows) {
    for (const int keys : kLengths) {
      for (const int rows : {1, 3, 16, 32}) {
        for (int first = 0; first < keys; first += rows == 1 ? 7 : rows) {
          const int last = std::min(first + rows, keys) - 1;
          for (int tile = 0; tile < 5; ++tile) {
            const TileView view = view_of_tile(tile, first, last, window, keys);
            met.insert(view);
            ASSERT_EQ(view, definition_of_view(tile, first, last, window, keys))
                << "tile " << tile << " queries " << first << ".." << last << " window " << window
                << " of " << keys;
          }
        }
      }
    }
  }
  EXPECT_EQ(met.size(), 3U);
}

TEST(AttentionGeometry, visited_tiles_hold_every_visible_key_and_no_hidden_tile_at_the_ends) {
  for (const int window : kWindows) {
    for (const int keys : kLengths) {
      for (int first = 0; first < keys; first += 16) {
        const int last = std::min(first + 64, keys) - 1;
        const KeyRange tiles = tiles_of(visible_keys(first, last, window, keys));
        ASSERT_LT(tiles.begin, tiles.end);
        for (int tile = 0; tile < 5; ++tile) {
          const bool is_visited = tile >= tiles.begin && tile < tiles.end;
          const TileView view = definition_of_view(tile, first, last, window, keys);
          ASSERT_EQ(is_visited, view != TileView::kHidden);
        }
      }
    }
  }
}

TEST(AttentionGeometry, the_ring_is_sized_for_the_most_tiles_any_block_visits) {
  for (const int window : kWindows) {
    for (const int keys : kLengths) {
      for (const AttentionTile tile :
           {AttentionTile::kRows16, AttentionTile::kRows64, AttentionTile::kRows128}) {
        const AttentionExtent extent{1, keys, keys, 1, window};
        int most = 0;
        for (int first = 0; first < keys; first += rows_of(tile)) {
          const int last = std::min(first + rows_of(tile), keys) - 1;
          const KeyRange tiles = tiles_of(visible_keys(first, last, window, keys));
          most = std::max(most, tiles.end - tiles.begin);
        }
        ASSERT_LE(most, most_key_tiles(extent, rows_of(tile)));
        const std::size_t shared = attention_geometry(extent, tile).shared_bytes;
        ASSERT_GE(shared, std::min(most, kAttentionRing) * kAttentionSlotBytes);
        ASSERT_GE(shared, static_cast<std::size_t>(rows_of(tile)) * 128);  // the outputs' place
      }
    }
  }
}

TEST(AttentionGeometry, blocks_cover_every_row_of_every_head_once) {
  for (const int rows : {16, 64, 128}) {
    for (const int queries : {1, 15, 16, 17, 64, 129}) {
      std::set<std::tuple<int, int, int>> places;
      const auto blocks = static_cast<unsigned>(3 * 5 * ((queries + rows - 1) / rows));
      for (unsigned block = 0; block < blocks; ++block) {
        const AttentionPlace place = place_of(block, 5, queries, rows);
        ASSERT_LT(place.batch, 3);
        ASSERT_LT(place.head, 5);
        ASSERT_LT(place.first_row, queries);
        ASSERT_EQ(place.first_row % rows, 0);
        places.insert({place.batch, place.head, place.first_row});
      }
      EXPECT_EQ(places.size(), blocks);
    }
  }
}

TEST(AttentionGeometry, the_eight_pieces_ldmatrix_reads_lie_in_different_bank_groups) {
  for (int piece = 0; piece < 8; ++piece) {
    for (int first = 0; first < 64; first += 8) {
      std::set<int> groups;
      for (int row = first; row < first + 8; ++row) groups.insert(swizzled(row, piece) / 16 % 8);
      ASSERT_EQ(groups.size(), 8U);
    }
  }
  std::set<int> offsets;
  for (int i = 0; i < 512; ++i) offsets.insert(swizzled(i / 8, i % 8));
  EXPECT_EQ(offsets.size(), 512U);
  EXPECT_EQ(*offsets.rbegin(), 8192 - 16);
}

TEST(AttentionGeometry, short_rows_make_more_blocks_and_long_batches_wider_ones) {
  const auto tile_of = [](std::int64_t batch, std::int64_t length) {
    return best_attention_tile({batch, length, length, 16});
  };
  EXPECT_EQ(tile_of(1, 48), AttentionTile::kRows16);
  EXPECT_EQ(tile_of(1, 512), AttentionTile::kRows64);
  EXPECT_EQ(tile_of(32, 512), AttentionTile::kRows128);
  EXPECT_EQ(best_attention_tile({32, 512, 512, 16, 64}), AttentionTile::kRows64);  // windowed
  EXPECT_EQ(best_attention_tile({32, 5, 512, 16}), AttentionTile::kRows16);  // a few chosen rows
  const Geometry geometry = attention_geometry({1, 48, 48, 16}, AttentionTile::kRows16);
  EXPECT_EQ(geometry, (Geometry{{48}, {32}, kAttentionSlotBytes}));
  EXPECT_EQ(attention_geometry({32, 512, 512, 16}, AttentionTile::kRows128),
            (Geometry{{2048}, {128}, 4 * kAttentionSlotBytes}));
  EXPECT_EQ(plain_attention_geometry({2, 17, 17, 3}), (Geometry{{12}, {128}}));
}

TEST(AttentionGeometry, empty_problems_launch_nothing_and_the_largest_are_launchable) {
  for (const AttentionExtent& extent :
       {AttentionExtent{0, 5, 5, 2}, AttentionExtent{1, 0, 5, 2}, AttentionExtent{1, 5, 5, 0}}) {
    EXPECT_TRUE(attention_geometry(extent, best_attention_tile(extent)).is_empty());
    EXPECT_TRUE(plain_attention_geometry(extent).is_empty());
  }
  // 2^32 - 1 elements of q, k, v in rows of one token and one head: the most blocks there can be.
  const AttentionExtent widest{kMostElements / 192, 1, 1, 1};
  EXPECT_TRUE(is_launchable(attention_geometry(widest, AttentionTile::kRows16)));
  EXPECT_TRUE(is_launchable(plain_attention_geometry(widest)));
}

TEST(AttentionQuotient, is_the_rounded_quotient) {
  base::Random random(11);
  for (int i = 0; i < 1000000; ++i) {
    const float divisor = std::exp2(random.uniform_float(0.0F, 13.0F));
    const float numerator =
        random.uniform_float(-1.0F, 1.0F) * std::exp2(random.uniform_float(-60.0F, 60.0F));
    ASSERT_EQ(quotient(numerator, divisor, 1.0F / divisor), numerator / divisor)
        << numerator << " / " << divisor;
  }
  EXPECT_EQ(quotient(INFINITY, 3.0F, 1.0F / 3.0F), INFINITY);
  EXPECT_EQ(quotient(-INFINITY, 3.0F, 1.0F / 3.0F), -INFINITY);
  EXPECT_TRUE(std::isnan(quotient(NAN, 3.0F, 1.0F / 3.0F)));
  EXPECT_TRUE(std::isnan(quotient(1.0F, NAN, NAN)));
}

TEST(AttentionGeometry, lengths_are_clamped_and_padding_queries_counted_out) {
  EXPECT_EQ(keys_in_bounds(-1, 10), 0);
  EXPECT_EQ(keys_in_bounds(10, 10), 10);
  EXPECT_EQ(keys_in_bounds(11, 10), 10);
  EXPECT_EQ(real_queries(10, 3, true), 3);
  EXPECT_EQ(real_queries(10, 3, false), 10);
}

}  // namespace
}  // namespace abba::cuda
