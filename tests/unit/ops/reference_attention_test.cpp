#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/prng.h"
#include "engine/ops/reference/reference_ops.h"

namespace abba::ops::reference {
namespace {

constexpr std::int64_t kWidth = 3 * kHeadDim;  // one head

Values random_values(std::int64_t count, std::uint64_t seed) {
  base::Random random(seed);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.normal();
  return values;
}

double& element(Values& qkv, std::int64_t token, std::int64_t part, std::int64_t c) {
  return qkv[static_cast<std::size_t>(token * kWidth + part * kHeadDim + c)];
}

// Every value vector is ones: the softmax's shares must sum to one whatever the scores are.
TEST(ReferenceAttention, SharesSumToOne) {
  const std::vector<std::int32_t> lengths = {200};
  Values qkv = random_values(200 * kWidth, 1);
  for (std::int64_t t = 0; t < 200; ++t) {
    for (std::int64_t c = 0; c < kHeadDim; ++c) element(qkv, t, 2, c) = 1.0;
  }
  for (const std::int64_t window : {kFullAttention, std::int64_t{64}, std::int64_t{0}}) {
    for (const double value : attention(AttentionProblem{1, 200, 1, window}, qkv, lengths)) {
      EXPECT_NEAR(value, 1.0, 1e-12);
    }
  }
}

// Wherever it stands among a row's scores: the maximum must not lose it.
TEST(ReferenceAttention, ANanReachesTheQueriesThatReadIt) {
  const std::vector<std::int32_t> lengths = {9};
  for (const std::int64_t part : {0, 1, 2}) {
    for (const std::int64_t token : {0, 4, 8}) {
      Values qkv = random_values(9 * kWidth, 3);
      element(qkv, token, part, 7) = std::nan("");
      const Values out = attention(AttentionProblem{1, 9, 1, 2}, qkv, lengths);
      for (std::int64_t i = 0; i < 9; ++i) {
        const bool is_reader = part == 0 ? i == token : std::abs(i - token) <= 2;
        EXPECT_EQ(std::isnan(out[static_cast<std::size_t>(i * kHeadDim + 7)]), is_reader)
            << "part " << part << ", token " << token << ", query " << i;
      }
    }
  }
}

TEST(ReferenceAttention, TwoKeysByHand) {
  Values qkv(2 * kWidth, 0.0);
  const std::vector<std::int32_t> lengths = {2};
  element(qkv, 0, 0, 3) = 4.0;
  element(qkv, 1, 1, 3) = 2.0;  // score of (0, 1) is 4 * 2 * 0.125 = 1, of (0, 0) 0
  element(qkv, 0, 2, 0) = 10.0;
  element(qkv, 1, 2, 0) = 20.0;
  const Values out = attention(AttentionProblem{1, 2, 1}, qkv, lengths);
  const double e = std::exp(1.0);
  EXPECT_NEAR(out[0], (10.0 + 20.0 * e) / (1.0 + e), 1e-12);
  EXPECT_NEAR(out[64], 15.0, 1e-12);  // query 1 is zero: equal shares
}

// A huge value just inside the window shows, just outside it does not: |i - j| <= 64, both ends in.
TEST(ReferenceAttention, WindowIsInclusiveOnBothSides) {
  const std::vector<std::int32_t> lengths = {200};
  const Values plain = random_values(200 * kWidth, 2);
  const AttentionProblem problem{1, 200, 1, 64};
  const Values before = attention(problem, plain, lengths);
  Values changed = plain;
  element(changed, 100, 2, 0) = 1e9;
  const Values after = attention(problem, changed, lengths);
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto place = static_cast<std::size_t>(i * kHeadDim);
    if (std::abs(i - 100) <= 64) {
      EXPECT_GT(after[place], 1e3) << i;
    } else {
      EXPECT_EQ(after[place], before[place]) << i;
    }
  }
}

TEST(ReferenceAttention, KeysBeyondARowsLengthDoNotShow) {
  const AttentionProblem problem{2, 7, 1};
  const std::vector<std::int32_t> lengths = {4, 7};
  Values qkv = random_values(2 * 7 * kWidth, 3);
  const Values before = attention(problem, qkv, lengths);
  for (std::int64_t t = 4; t < 7; ++t) {
    for (std::int64_t c = 0; c < kWidth; ++c) qkv[static_cast<std::size_t>(t * kWidth + c)] = 1e6;
  }
  EXPECT_EQ(attention(problem, qkv, lengths), before);
  element(qkv, 3, 2, 0) += 1.0;  // canary: the last visible key does show
  EXPECT_NE(attention(problem, qkv, lengths), before);
}

TEST(ReferenceAttention, ASubsetOfQueriesEqualsTheSameRowsOfFullAttention) {
  const std::int64_t b = 2, l = 9, h = 2, width = h * kHeadDim;
  const Values qkv = random_values(b * l * 3 * width, 4);
  const std::vector<std::int32_t> lengths = {9, 5};
  const Values full = attention(AttentionProblem{b, l, h}, qkv, lengths);
  Values kv;
  for (std::int64_t t = 0; t < b * l; ++t) {
    const auto first = qkv.begin() + t * 3 * width + width;
    kv.insert(kv.end(), first, first + 2 * width);
  }
  for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{3}, {0, 4}, {4, 0, 2}}) {
    Values q, expected;
    for (std::int64_t row = 0; row < b; ++row) {
      for (const std::int64_t i : rows) {
        const auto query = qkv.begin() + (row * l + i) * 3 * width;
        q.insert(q.end(), query, query + width);
        const auto result = full.begin() + (row * l + i) * width;
        expected.insert(expected.end(), result, result + width);
      }
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    EXPECT_EQ(attention(SubsetAttentionProblem{b, count, l, h}, q, kv, lengths), expected);
  }
}

}  // namespace
}  // namespace abba::ops::reference
