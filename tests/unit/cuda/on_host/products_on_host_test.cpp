// The products of our own, run on the host with the instructions of a warp by their definition; and
// canaries of the grid itself.
#include <gtest/gtest.h>

#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/plain_product.h"
#include "tests/unit/cuda/on_host/values.h"

namespace abba::cuda::on_host {
namespace {

constexpr GatedTile kTiles[] = {GatedTile::k64x32, GatedTile::k64x64, GatedTile::k128x128};

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

ActValues gated(GatedTile tile, const Sizes& s, ActValues& x, ActValues& weight) {
  ActValues y(Precision::kBf16, s.rows * s.columns);
  launch_gated_product(tile, s.rows, s.columns, s.depth, x.data(), weight.data(), y.data(),
                       LaunchContext(Precision::kBf16));
  return y;
}

TEST(ProductsOnHost, a_gated_product_is_right_and_the_same_under_every_tile) {
  base::Random random(5);
  for (const Sizes& s :
       std::vector<Sizes>{{1, 2, 8}, {17, 66, 72}, {65, 34, 200}, {63, 130, 64}, {130, 96, 448}}) {
    ActValues x = ActValues::random(Precision::kBf16, s.rows * s.depth, random);
    ActValues weight = ActValues::random(Precision::kBf16, 2 * s.columns * s.depth, random, 0.1F);
    const Values values = weight.values();
    const Values expected =
        ops::reference::matmul({s.rows, s.columns, s.depth, ops::Epilogue::kGeglu, false},
                               x.values(), std::vector<float>(values.begin(), values.end()), {});
    const ActValues first = gated(kTiles[0], s, x, weight);
    EXPECT_LE(worst_error(first.values(), expected, 0.00392, 1e-5), 1.0) << s.rows;
    for (const GatedTile tile : kTiles) EXPECT_TRUE(gated(tile, s, x, weight) == first) << s.rows;
  }
}

TEST(ProductsOnHost, a_row_alone_has_the_bits_it_has_among_others) {
  base::Random random(6);
  ActValues x = ActValues::random(Precision::kBf16, 70 * 96, random);
  ActValues weight = ActValues::random(Precision::kBf16, 2 * 40 * 96, random, 0.1F);
  const ActValues all = gated(GatedTile::k64x64, {70, 40, 96}, x, weight);
  ActValues row(Precision::kBf16, 96);
  for (std::int64_t k = 0; k < 96; ++k) row.set(k, x.at(69 * 96 + k));
  const ActValues alone = gated(GatedTile::k64x32, {1, 40, 96}, row, weight);
  for (std::int64_t c = 0; c < 40; ++c) EXPECT_EQ(alone.at(c), all.at(69 * 40 + c));
}

TEST(ProductsOnHost, canary_halves_of_the_weight_swapped_are_caught) {
  base::Random random(7);
  const Sizes s{5, 16, 32};
  ActValues x = ActValues::random(Precision::kBf16, 5 * 32, random);
  ActValues weight = ActValues::random(Precision::kBf16, 2 * 16 * 32, random, 0.1F);
  std::vector<float> swapped;
  for (std::int64_t i = 0; i < 2 * 16 * 32; ++i) {
    swapped.push_back(weight.at((i + 16 * 32) % (2 * 16 * 32)));
  }
  const Values other =
      ops::reference::matmul({5, 16, 32, ops::Epilogue::kGeglu, false}, x.values(), swapped, {});
  EXPECT_GT(worst_error(gated(GatedTile::k64x32, s, x, weight).values(), other, 0.00392, 1e-5),
            1.0);
}

TEST(ProductsOnHost, a_plain_product_is_right) {
  base::Random random(8);
  for (const Precision precision : {Precision::kBf16, Precision::kFp32}) {
    ActValues x = ActValues::random(precision, 7 * 100, random);
    ActValues weight = ActValues::random(precision, 3 * 100, random);
    ActValues bias = ActValues::random(precision, 3, random);
    ActValues y(precision, 21);
    launch_plain_product({7, 3, 100, true, false}, x.data(), weight.data(), bias.data(), y.data(),
                         LaunchContext(precision));
    const Values values = weight.values();
    const Values expected =
        ops::reference::matmul({7, 3, 100, ops::Epilogue::kRelu, true}, x.values(),
                               std::vector<float>(values.begin(), values.end()), bias.values());
    EXPECT_LE(
        worst_error(y.values(), expected, precision == Precision::kBf16 ? 0.00392 : 1e-5, 1e-5),
        1.0);
  }
}

// Every thread of two blocks reads what its left neighbour wrote.
std::vector<int> neighbours(bool meets) {
  std::vector<int> seen(64, -1);
  int shared[32];
  run_grid({{2, 1, 1}, {32, 1, 1}}, [&] {
    shared[thread_index.x] = static_cast<int>(100 * block_index.x + thread_index.x);
    if (meets) meet_block();
    seen[block_index.x * 32 + thread_index.x] = shared[(thread_index.x + 31) % 32];
  });
  return seen;
}

TEST(GridOnHost, a_barrier_lets_every_thread_see_what_all_wrote) {
  const std::vector<int> seen = neighbours(true);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i / 32 * 100 + (i + 31) % 32);
  }
}

TEST(GridOnHost, canary_a_missing_barrier_is_caught) {
  EXPECT_NE(neighbours(false), neighbours(true));
}

}  // namespace
}  // namespace abba::cuda::on_host
