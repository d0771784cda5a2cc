// The reference against values worked out by hand and against properties that do not need it.
#include "engine/ops/reference/reference_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/prng.h"

namespace abba::ops::reference {
namespace {

Values random_values(std::size_t count, std::uint64_t seed) {
  base::Random random(seed);
  Values values(count);
  for (double& value : values) value = random.normal();
  return values;
}

TEST(ReferenceOps, LayerNormByHand) {
  // mean 2.5, biased variance 1.25; epsilon chosen to make the deviation 1.5.
  const Values y = layer_norm({1, 4, 1.0F}, {1, 2, 3, 4}, {1, 1, 2, 1}, {0, 0, 0, 10});
  EXPECT_NEAR(y[0], -1.0, 1e-12);
  EXPECT_NEAR(y[1], -1.0 / 3.0, 1e-12);
  EXPECT_NEAR(y[2], 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(y[3], 11.0, 1e-12);
}

TEST(ReferenceOps, EmbedNormTakesTheRowsOfItsIds) {
  const std::vector<float> table = {9, 9, 1, 3, -5, 5};
  const std::vector<std::int32_t> ids = {2, 1};
  const Values y = embed_norm({2, 2, 3, 0.0F}, table, {1, 2}, ids);
  EXPECT_EQ(y, (Values{-1, 2, -1, 2}));
}

TEST(ReferenceOps, GeluByHand) {
  EXPECT_EQ(gelu(0.0), 0.0);
  EXPECT_NEAR(gelu(1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(gelu(-1.0), -0.15865525393145707, 1e-15);
  EXPECT_NEAR(gelu(10.0), 10.0, 1e-12);
}

TEST(ReferenceOps, MatmulByHandWithEachEpilogue) {
  const Values x = {1, 2, -1, 1};               // [2, 2]
  const std::vector<float> w = {3, 4, -1, -2};  // [2, 2]
  EXPECT_EQ(matmul({2, 2, 2}, x, w, {}), (Values{11, -5, 1, -1}));
  EXPECT_EQ(matmul({2, 2, 2, Epilogue::kRelu, true}, x, w, {-2, 5.5}), (Values{9, 0.5, 0, 4.5}));
  const Values g = matmul({2, 1, 2, Epilogue::kGeglu}, x, w, {});  // gelu(first) * second
  EXPECT_NEAR(g[0], gelu(11.0) * -5.0, 1e-12);
  EXPECT_NEAR(g[1], gelu(1.0) * -1.0, 1e-12);
  // Canary: halves swapped is another number.
  EXPECT_GT(std::abs(g[1] - gelu(-1.0) * 1.0), 0.1);
}

TEST(ReferenceOps, ANanPassesEveryEpilogueNormAndFeature) {
  const double nan = std::nan("");
  const auto count = [](const Values& values) {
    return std::count_if(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  };
  const Values x = {1, 2, nan, 1};
  const std::vector<float> w = {3, 4, -1, -2};
  for (const auto epilogue : {Epilogue::kNone, Epilogue::kRelu, Epilogue::kGelu}) {
    EXPECT_EQ(count(matmul({2, 2, 2, epilogue}, x, w, {})), 2);
    EXPECT_EQ(count(matmul({2, 2, 2, epilogue, true}, {1, 2, 3, 1}, w, {nan, 0})), 2);
  }
  EXPECT_EQ(count(matmul({2, 1, 2, Epilogue::kGeglu}, x, w, {})), 1);
  EXPECT_EQ(count(layer_norm({2, 2, 1e-5F}, x, {1, 1}, {})), 2);
  Values y = {1, nan, 3, -4};
  add_bias({2, 2, true}, {-2, 1}, y);
  EXPECT_EQ(count(y), 1);
  for (const std::size_t place : {0U, 1U, 2U}) {
    Values logits = {0.5, -1, 2};
    logits[place] = nan;
    const std::vector<std::int32_t> counts = {3};
    const ActionInput action = action_features({1, 3, 1}, logits, counts, {7});
    EXPECT_EQ(count(action.logits), 1);
    EXPECT_EQ(count(action.features), 3) << place;
  }
}

TEST(ReferenceOps, BiasTypeAndGatherByHand) {
  Values y = {1, -2, 3, -4};
  add_bias({2, 2, true}, {-2, 1}, y);
  EXPECT_EQ(y, (Values{0, 0, 1, 0}));
  const std::vector<std::int32_t> types = {2, 0};
  EXPECT_EQ(type_embedding({2, 1, 2}, {1, 2, 3, 4}, {10, 20, 0, 0, 30, 40}, types),
            (Values{31, 42, 13, 24}));
  const std::vector<std::int32_t> rows = {1, 1, 0};
  EXPECT_EQ(gather_rows({3, 2, 2}, {1, 2, 3, 4}, rows), (Values{3, 4, 3, 4, 1, 2}));
}

TEST(ReferenceOps, TransposeHeadsPutsHeadsSideBySide) {
  Values by_head(2 * 3 * kHeadDim);  // 1 batch row, 2 heads, 3 rows
  std::iota(by_head.begin(), by_head.end(), 0.0);
  const Values by_row = transpose_heads({1, 3, 2}, by_head);
  EXPECT_EQ(by_row[0], 0.0);
  EXPECT_EQ(by_row[64], 3 * 64.0);       // row 0, head 1
  EXPECT_EQ(by_row[128 + 5], 64.0 + 5);  // row 1, head 0
}

TEST(Rope, RotatesPairsKeepsNormsAndLeavesVAlone) {
  const RopeProblem problem{2, 5, 2};
  const Values before = random_values(2 * 5 * 3 * 2 * 64, 7);
  Values after = before;
  rope(problem, 10000.0F, false, after);
  const std::int64_t width = 2 * kHeadDim;
  for (std::int64_t token = 0; token < 10; ++token) {
    for (std::int64_t c = 0; c < 3 * width; ++c) {
      const auto i = static_cast<std::size_t>(token * 3 * width + c);
      if (c >= 2 * width || token % 5 == 0) {  // v, or position 0
        EXPECT_EQ(after[i], before[i]);
      } else if (c % kHeadDim < 32) {
        EXPECT_NEAR(std::hypot(after[i], after[i + 32]), std::hypot(before[i], before[i + 32]),
                    1e-12);
        EXPECT_NE(after[i], before[i]);
      }
    }
  }
}

TEST(Rope, AnglesByHandAndOnlyDistancesMatter) {
  EXPECT_EQ(rope_angle(160000.0F, 5, 0), 5.0);
  EXPECT_NEAR(rope_angle(10000.0F, 3, 16), 0.03, 1e-8);  // theta^(-1/2)
  Values qkv(3 * 64, 0.0);
  qkv.resize(2 * 3 * 64);
  qkv[192] = 1.0;  // token 1, q, pair 0: (1, 0) -> (cos 1, sin 1)
  rope({1, 2, 1}, 10000.0F, false, qkv);
  EXPECT_NEAR(qkv[192], std::cos(1.0), 1e-12);
  EXPECT_NEAR(qkv[192 + 32], std::sin(1.0), 1e-12);
  // The same q and k at every position: the product depends on the distance alone.
  const Values one = random_values(128, 3);
  Values many;
  for (int token = 0; token < 6; ++token) {
    many.insert(many.end(), one.begin(), one.end());
    many.resize(many.size() + 64, 0.0);
  }
  rope({1, 6, 1}, 160000.0F, false, many);
  const auto dot = [&many](std::size_t i, std::size_t j) {
    return std::inner_product(&many[i * 192], &many[i * 192 + 64], &many[j * 192 + 64], 0.0);
  };
  EXPECT_NEAR(dot(1, 3), dot(3, 5), 1e-4);
  EXPECT_NEAR(dot(4, 0), dot(5, 1), 1e-4);
  EXPECT_GT(std::abs(dot(1, 3) - dot(3, 1)), 1e-3);  // canary: the sign of the distance shows
}

TEST(ActionFeatures, ByHand) {
  // Row 0: p = 0.75, 0.25. Row 1: a single option.
  const Values raw = {std::log(3.0), 0.0, 55.0, 2.0, 7.0, -3.0};
  const std::vector<std::int32_t> counts = {2, 1};
  const ActionInput input = action_features({2, 3, 2}, raw, counts, {5, 6, 7, 8});
  EXPECT_EQ(input.logits, (Values{std::log(3.0), 0.0, -1e4, 2.0, -1e4, -1e4}));
  const double entropy = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(2.0);
  const Values expected = {5, 6, 0.75, 0.5, entropy, 2.0 / 255, 7, 8, 1.0, 1.0, 0.0, 2.0 / 255};
  ASSERT_EQ(input.features.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(input.features[i], expected[i], 1e-12) << i;
  }
}

TEST(ActionFeatures, EqualLogitsHaveEntropyOneAndNoMargin) {
  const std::vector<std::int32_t> counts = {5};
  const ActionInput input = action_features({1, 5, 1}, Values(5, -3.0), counts, {0});
  EXPECT_NEAR(input.features[1], 0.2, 1e-12);
  EXPECT_NEAR(input.features[2], 0.0, 1e-12);
  EXPECT_NEAR(input.features[3], 1.0, 1e-12);
  EXPECT_NEAR(input.features[4], 5.0 / 255.0, 1e-15);
}

}  // namespace
}  // namespace abba::ops::reference
