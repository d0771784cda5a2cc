// The reference network on random weights: properties that hold whatever the weights are.
#include "engine/ops/reference/reference_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/base/prng.h"

namespace abba::ops::reference {
namespace {

NetworkSizes small_sizes() {
  NetworkSizes sizes;
  sizes.hidden = 128;
  sizes.heads = 2;
  sizes.gated = 96;
  sizes.vocabulary = 50;
  sizes.full_layers = {true, false};
  sizes.half_window = 3;
  sizes.decision_layers = 2;
  sizes.action_hidden = 16;
  return sizes;
}

std::vector<float> drawn(const std::string& name, std::int64_t first, std::int64_t count) {
  base::Random random(std::hash<std::string>{}(name) +
                      1000003U * static_cast<std::uint64_t>(first));
  const bool is_gain = name.find("norm") != std::string::npos;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values)
    value = static_cast<float>((is_gain ? 1.0 : 0.0) + 0.1 * random.normal());
  return values;
}

NetworkInput small_input() {
  return {2,
          8,
          3,
          {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 0, 0, 0},
          {8, 5},
          {0, 2},
          {1, 3, 5, 2, 4, 0},
          {3, 2}};
}

TEST(ReferenceNetwork, ReadsEveryTensorOfTheInventoryOnce) {
  std::map<std::string, int> reads;
  const auto source = [&reads](const std::string& name, std::int64_t first, std::int64_t count) {
    if (first == 0 || reads.count(name) == 0) ++reads[name];
    return drawn(name, first, count);
  };
  const NetworkRecord record = run_network(small_sizes(), source, small_input());
  // 3 + 6 per encoder layer less layer 0's norm, type embedding, 12 per decision layer, 6 + 4 of
  // heads.
  EXPECT_EQ(reads.size(), 3U + 2 * 6 - 1 + 1 + 2 * 12 + 6 + 4);
  EXPECT_EQ(reads.count("encoder.layers.0.attn_norm.weight"), 0U);
  EXPECT_EQ(reads.at("encoder.layers.1.attn_norm.weight"), 1);
  EXPECT_EQ(record.logits.size(), 6U);
  EXPECT_EQ(record.actions.size(), 4U);
  EXPECT_EQ(record.logits[5], -1e4);
}

TEST(ReferenceNetwork, PaddingContentDoesNotShowAndRowsAreIndependent) {
  const NetworkRecord together = run_network(small_sizes(), drawn, small_input());
  NetworkInput other = small_input();
  for (std::size_t i = 13; i < 16; ++i) other.ids[i] = 40;
  const NetworkRecord repadded = run_network(small_sizes(), drawn, other);
  EXPECT_EQ(together.logits, repadded.logits);
  EXPECT_EQ(together.actions, repadded.actions);
  const NetworkInput alone = {1, 5, 2, {11, 12, 13, 14, 15}, {5}, {2}, {2, 4}, {2}};
  const NetworkRecord single = run_network(small_sizes(), drawn, alone);
  EXPECT_NEAR(single.logits[0], together.logits[3], 1e-12);
  EXPECT_NEAR(single.logits[1], together.logits[4], 1e-12);
  EXPECT_NEAR(single.actions[0], together.actions[2], 1e-12);
  NetworkInput changed = small_input();  // canary: a real token does show
  changed.ids[12] = 40;
  EXPECT_NE(run_network(small_sizes(), drawn, changed).logits, together.logits);
}

TEST(ReferenceNetwork, RecordsAddUp) {
  const NetworkRecord record = run_network(small_sizes(), drawn, small_input());
  EXPECT_EQ(record.encoder[0].input, record.embedding);
  EXPECT_EQ(record.encoder[1].input, record.encoder[0].output);
  for (const auto* layers : {&record.encoder, &record.decision}) {
    for (const LayerRecord& layer : *layers) {
      for (std::size_t i = 0; i < layer.input.size(); ++i) {
        EXPECT_NEAR(layer.output[i],
                    layer.input[i] + layer.attention_branch[i] + layer.mlp_branch[i], 1e-12);
      }
    }
  }
}

TEST(ReferenceNetwork, RoundingWeightsMovesTheResultALittle) {
  const NetworkRecord exact = run_network(small_sizes(), drawn, small_input());
  const NetworkRecord rounded = run_network(small_sizes(), drawn, small_input(), {true});
  double difference = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    difference = std::max(difference, std::abs(exact.logits[i] - rounded.logits[i]));
  }
  EXPECT_GT(difference, 1e-6);
  EXPECT_LT(difference, 0.1);
}

}  // namespace
}  // namespace abba::ops::reference
