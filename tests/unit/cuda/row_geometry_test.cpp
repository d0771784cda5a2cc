// Launch geometry of the row-wise kernels without a GPU: every element is taken exactly once by the
// indices the kernels compute, every geometry is one the hardware takes, refusals are right at
// every limit and one beyond.
#include "engine/cuda/kernels/row_geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/ops/variant.h"

namespace abba::cuda {
namespace {

using ops::RopeProblem;
using ops::RopeVariant;

constexpr RopeVariant kLevels[] = {RopeVariant::kRowBlock32, RopeVariant::kRowBlock32Div64,
                                   RopeVariant::kR1H4, RopeVariant::kR2H4, RopeVariant::kR1H8};
constexpr std::int64_t kSizes[] = {1, 2, 7, 31, 32, 33, 47, 48, 127, 128, 129, 383, 384, 385, 1009};

bool all_taken_once(const std::vector<int>& taken) {
  return std::all_of(taken.begin(), taken.end(), [](int times) { return times == 1; });
}

// How often each of `units` of one row is taken under `geometry`.
std::vector<int> taken_in_row(const Geometry& geometry, std::int64_t units) {
  std::vector<int> taken(static_cast<std::size_t>(units), 0);
  for (std::int64_t block = 0; block < geometry.grid.y; ++block) {
    for (std::int64_t thread = 0; thread < geometry.block.x; ++thread) {
      const std::int64_t unit = block * geometry.block.x + thread;
      if (unit < units) ++taken[static_cast<std::size_t>(unit)];
    }
  }
  return taken;
}

TEST(RowGeometry, every_unit_of_a_row_has_one_thread) {
  for (const std::int64_t units : kSizes) {
    const Geometry geometry = row_geometry(5, units);
    EXPECT_TRUE(is_launchable(geometry));
    EXPECT_EQ(geometry.grid.x, 5);
    EXPECT_EQ(geometry.block.x % 32, 0);
    EXPECT_TRUE(all_taken_once(taken_in_row(geometry, units))) << units;
  }
}

TEST(RowGeometry, canary_a_grid_one_block_short_is_caught) {
  Geometry geometry = row_geometry(5, 1009);
  --geometry.grid.y;
  EXPECT_FALSE(all_taken_once(taken_in_row(geometry, 1009)));
}

TEST(RowGeometry, the_models_rows_fill_their_blocks) {
  EXPECT_EQ(row_geometry(48, 1024 / 4), (Geometry{{48, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(row_geometry(48, 2624 / 4), (Geometry{{48, 2, 1}, {352, 1, 1}}));
  EXPECT_EQ(row_geometry(48, 4096 / 8), (Geometry{{48, 2, 1}, {256, 1, 1}}));
  EXPECT_EQ(norm_geometry(48, 1024), (Geometry{{48, 1, 1}, {128, 1, 1}}));
  EXPECT_EQ(norm_geometry(48, 768), (Geometry{{48, 1, 1}, {96, 1, 1}}));
  EXPECT_EQ(norm_geometry(48, 128), (Geometry{{48, 1, 1}, {32, 1, 1}}));
}

TEST(RowGeometry, a_norm_takes_hidden_sizes_up_to_8192) {
  for (const std::int64_t hidden :
       {1, 7, 8, 9, 128, 768, 1023, 1024, 1025, 2624, 4096, 8191, 8192}) {
    EXPECT_EQ(norm_refusal(3, hidden), "") << hidden;
    EXPECT_TRUE(is_launchable(norm_geometry(3, hidden))) << hidden;
    EXPECT_GE(norm_geometry(3, hidden).block.x * kNormColumns, hidden);
  }
  for (const std::int64_t hidden : {0, -8, 8193, 8200}) {
    EXPECT_NE(norm_refusal(3, hidden), "") << hidden;
  }
}

TEST(RowGeometry, rows_are_limited_by_the_grid) {
  EXPECT_EQ(norm_refusal(kMostGridX, 1024), "");
  EXPECT_NE(norm_refusal(kMostGridX + 1, 1024), "");
  EXPECT_EQ(row_refusal(kMostGridX, 1024), "");
  EXPECT_NE(row_refusal(kMostGridX + 1, 1024), "");
  EXPECT_NE(row_refusal(-1, 1024), "");
  EXPECT_NE(row_refusal(3, 0), "");
  EXPECT_TRUE(is_launchable(row_geometry(kMostGridX, 1024)));
  const std::int64_t widest = kMostGridYz * 384;
  EXPECT_EQ(row_refusal(1, widest), "");
  EXPECT_TRUE(is_launchable(row_geometry(1, widest)));
  EXPECT_NE(row_refusal(1, widest + 1), "");
}

TEST(RowGeometry, flat_elements_are_taken_once_and_limited_by_the_grid) {
  for (const std::int64_t count : {1, 127, 128, 129, 1023, 1024, 1025}) {
    const Geometry geometry = flat_geometry(count, 1, kFlatThreads);
    EXPECT_TRUE(is_launchable(geometry));
    EXPECT_GE(geometry.grid.x * geometry.block.x, count);
    EXPECT_LT((geometry.grid.x - 1) * geometry.block.x, count);
  }
  EXPECT_EQ(flat_geometry(1024, 8, 128), (Geometry{{1, 1, 1}, {128, 1, 1}}));
  EXPECT_EQ(flat_geometry(1032, 8, 128), (Geometry{{2, 1, 1}, {128, 1, 1}}));
  EXPECT_EQ(flat_refusal(kMostGridX * 128), "");
  EXPECT_TRUE(is_launchable(flat_geometry(kMostGridX * 128, 1, 128)));
  EXPECT_NE(flat_refusal(kMostGridX * 128 + 1), "");
  EXPECT_EQ(flat_refusal((std::int64_t{1} << 32) - 1), "");
  EXPECT_EQ(flat_refusal(std::int64_t{1} << 32), "");
}

TEST(RowGeometry, nothing_to_do_is_an_empty_launch) {
  EXPECT_TRUE(norm_geometry(0, 1024).is_empty());
  EXPECT_TRUE(row_geometry(0, 128).is_empty());
  EXPECT_TRUE(flat_geometry(0, 8, 128).is_empty());
  for (const RopeVariant level : kLevels) {
    EXPECT_TRUE(rope_geometry({0, 48, 16, level}).is_empty());
    EXPECT_TRUE(rope_geometry({1, 0, 16, level}).is_empty());
    EXPECT_TRUE(rope_geometry({1, 48, 0, level}).is_empty());
  }
}

TEST(RowGeometry, vectors_need_whole_ones_in_a_row_and_aligned_pointers) {
  alignas(16) static std::byte memory[64];
  EXPECT_EQ(vector_width(1024, 8, {memory, memory + 16}), 8);
  EXPECT_EQ(vector_width(1020, 8, {memory}), 1);
  EXPECT_EQ(vector_width(1020, 4, {memory}), 4);
  EXPECT_EQ(vector_width(1022, 4, {memory}), 1);
  EXPECT_EQ(vector_width(1024, 8, {memory, memory + 8}), 1);
  EXPECT_EQ(vector_width(1024, 4, {memory + 2}), 1);
  EXPECT_EQ(vector_width(0, 8, {memory}), 8);
}

// As the kernels of rope.cu index: rows, then heads in units of 4 pairs.
std::vector<int> units_rotated(const RopeProblem& problem) {
  const Geometry g = rope_geometry(problem);
  const std::int64_t rows = problem.batch * problem.length;
  const std::int64_t units = 2 * problem.heads * 8;
  std::vector<int> taken(static_cast<std::size_t>(rows * units), 0);
  const bool whole_rows = problem.variant == RopeVariant::kRowBlock32;
  for (std::int64_t x = 0; x < g.grid.x; ++x) {
    for (std::int64_t y = 0; y < (whole_rows ? 32 : g.grid.y); ++y) {
      for (std::int64_t thread = 0; thread < g.block.x * g.block.y; ++thread) {
        const std::int64_t row = whole_rows ? x * 32 + y : x * g.block.y + thread / g.block.x;
        const std::int64_t first = whole_rows ? thread : y * g.block.x + thread % g.block.x;
        for (std::int64_t unit = first; unit < units; unit += whole_rows ? g.block.x : units) {
          if (row < rows) ++taken[static_cast<std::size_t>(row * units + unit)];
        }
      }
    }
  }
  return taken;
}

TEST(RowGeometry, every_pair_of_rope_is_rotated_once_under_every_level) {
  for (const RopeVariant level : kLevels) {
    if (level == RopeVariant::kRowBlock32Div64) continue;  // flat: the next test
    for (const std::int64_t heads : {1, 2, 3, 12, 16}) {
      for (const std::int64_t length : {1, 31, 32, 33, 47, 64}) {
        EXPECT_TRUE(all_taken_once(units_rotated({3, length, heads, level})))
            << static_cast<int>(level) << ' ' << heads << ' ' << length;
      }
    }
  }
}

TEST(RowGeometry, rope_has_the_blocks_its_levels_are_named_for) {
  const auto blocks = [](RopeVariant level) {
    const Geometry g = rope_geometry({1, 48, 16, level});
    EXPECT_TRUE(is_launchable(g));
    return g.grid.x * g.grid.y;
  };
  EXPECT_EQ(blocks(RopeVariant::kRowBlock32), 2);
  EXPECT_EQ(blocks(RopeVariant::kRowBlock32Div64), 2);
  EXPECT_EQ(blocks(RopeVariant::kR1H4), 384);
  EXPECT_EQ(blocks(RopeVariant::kR2H4), 192);
  EXPECT_EQ(blocks(RopeVariant::kR1H8), 192);
}

// [B, L, 3, H, 64] with H = 1: 192 elements a row.
TEST(RowGeometry, rope_keeps_32_bit_levels_below_2_to_the_32_elements) {
  const std::int64_t most_rows = ((std::int64_t{1} << 32) - 1) / 192;
  for (const RopeVariant level : kLevels) {
    EXPECT_EQ(rope_refusal({1, most_rows, 1, level}), "");
    const bool is_64_bit = level == RopeVariant::kRowBlock32Div64;
    EXPECT_EQ(rope_refusal({1, most_rows + 1, 1, level}).empty(), is_64_bit);
    EXPECT_EQ(rope_refusal({most_rows + 1, 1, 1, level}).empty(), is_64_bit);
    EXPECT_NE(rope_refusal({1, kMostGridX + 1, 1, level}), "");
    EXPECT_NE(rope_refusal({kMostGridX, kMostGridX, 1, level}), "");
    EXPECT_NE(rope_refusal({1, 1, kMostGridYz + 1, level}), "");
    EXPECT_NE(rope_refusal({-1, 1, 1, level}), "");
  }
}

TEST(RowGeometry, bias_rows_2d_keeps_below_2_to_the_32_elements) {
  constexpr auto kFlat = ops::BiasVariant::kStridedDiv64;
  constexpr auto kRows = ops::BiasVariant::kRows2d;
  EXPECT_EQ(bias_refusal({65537, 65535, false, kRows}), "");  // 2^32 - 1
  EXPECT_NE(bias_refusal({65536, 65536, false, kRows}), "");  // 2^32
  EXPECT_EQ(bias_refusal({65536, 65536, true, kFlat}), "");
  EXPECT_EQ(bias_refusal({kMostGridX, kDivisionThreads, true, kFlat}), "");
  EXPECT_NE(bias_refusal({kMostGridX, kDivisionThreads + 1, true, kFlat}), "");
  for (const auto level : {kFlat, kRows}) {
    EXPECT_EQ(bias_refusal({0, 8, false, level}), "");
    EXPECT_NE(bias_refusal({-1, 8, false, level}), "");
    EXPECT_NE(bias_refusal({1, 0, false, level}), "");
  }
}

}  // namespace
}  // namespace abba::cuda
