#include "engine/runtime/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/base/prng.h"

namespace abba::runtime {
namespace {

TEST(Batching, TokensAreRoundedUpAndNeverBeyondTheModel) {
  for (const auto& [tokens, padded] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 16}, {16, 16}, {17, 32}, {454, 464}, {512, 512}, {513, 576}, {8190, 8192}}) {
    EXPECT_EQ(padded_tokens(tokens, 8192), padded);
  }
  EXPECT_EQ(padded_tokens(250, 250), 250);
}

TEST(Batching, OptionsBecomePowersOfTwo) {
  EXPECT_EQ(padded_options(1), 2);
  EXPECT_EQ(padded_options(2), 2);
  EXPECT_EQ(padded_options(3), 4);
  EXPECT_EQ(padded_options(100), 128);
}

// Whatever lengths come, the cut covers all rows, keeps the budget, and few shapes exist.
TEST(Batching, EveryRequestIsCoveredWithinTheBudget) {
  base::Random random(7);
  std::set<std::pair<std::size_t, std::int64_t>> shapes;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> lengths(1 + random.below(64));
    const std::uint64_t longest = 1 + random.below(round % 10 == 0 ? 8192 : 512);
    for (std::int64_t& length : lengths) {
      length = static_cast<std::int64_t>(1 + random.below(longest));
    }
    std::span<const std::int64_t> rest(lengths);
    while (!rest.empty()) {
      const std::size_t rows = next_batch_rows(rest, 8192);
      ASSERT_GE(rows, 1U);
      ASSERT_LE(rows, rest.size());
      const auto batch = rest.first(rows);
      const std::int64_t padded =
          padded_tokens(*std::max_element(batch.begin(), batch.end()), 8192);
      EXPECT_TRUE(rows == 1 || static_cast<std::int64_t>(rows) * padded <= kMostBatchTokens);
      shapes.insert({rows, padded});
      rest = rest.subspan(rows);
    }
  }
  EXPECT_LE(shapes.size(), 7U * 152U);
  EXPECT_EQ(next_batch_rows(std::vector<std::int64_t>(3, 48), 8192), 3U);  // as the original
  EXPECT_EQ(next_batch_rows(std::vector<std::int64_t>(7, 48), 8192), 4U);
}

TEST(Batching, SlotsForOptionsNeverExceedTheTokens) {
  checkpoint::ModelConfig config = checkpoint::family_config("tiny");
  model::Row row;
  row.ids.assign(70, 1000);
  for (std::int32_t i = 0; i < 65; ++i) row.markers.push_back(i);
  const model::Shape shape = padded_shape(std::vector<model::Row>{row}, config);
  EXPECT_EQ(shape.tokens, 80);
  EXPECT_EQ(shape.options, 80);
  EXPECT_NO_THROW(model::check_shape(shape, config));
}

}  // namespace
}  // namespace abba::runtime
