// The forward pass against the reference network, computed by a backend made of the reference's
// operations: whatever differs is the wiring.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/forward_work.h"
#include "engine/model/network.h"
#include "engine/model/reference_forward.h"
#include "tests/unit/model/plain_backend.h"
#include "tests/unit/model/small_checkpoint.h"

namespace abba::model {
namespace {

using testing::PlainBackend;
using testing::small_config;
using testing::SmallCheckpoint;

tensor::DType mixed(const std::string& name) {
  if (name.find("mlp") != std::string::npos) return tensor::DType::kBf16;
  if (name.find("bias") != std::string::npos) return tensor::DType::kF32;
  return tensor::DType::kF16;
}

std::vector<ops::Choices> all_choices() {
  std::vector<ops::Choices> all;
  for (const auto head : {ops::HeadLastLayer::kAllTokens, ops::HeadLastLayer::kMarkerRows}) {
    for (const auto out : {ops::AttentionOutput::kHeadMajor, ops::AttentionOutput::kRowMajor}) {
      for (const auto bias : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kEpilogue}) {
        all.push_back({ops::RopeVariant::kR1H4, head, out, bias});
      }
    }
  }
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    largest = std::isnan(difference) ? 1e30 : std::max(largest, difference);
  }
  return largest;
}

TEST(Wiring, EveryCombinationOfLevelsComputesTheReference) {
  const auto config = small_config();
  const SmallCheckpoint checkpoint(config, mixed);
  const Batch batch = random_batch(config, {3, 12, 4}, 11);
  const auto expected = reference_forward(config, checkpoint.file(), batch);
  const auto other =
      reference_forward(config, checkpoint.file(), random_batch(config, {3, 12, 4}, 12));
  for (const ops::Choices& choices : all_choices()) {
    PlainBackend backend(choices);
    Network network(config, checkpoint.file(), backend);
    LaunchPlan& plan = network.prepare(batch.shape);
    Decision decision = network.make_decision(plan);
    network.encode(plan, batch);
    network.decide(plan, decision);
    EXPECT_LT(largest_difference(decision.logits, expected.logits), 2e-5);
    EXPECT_LT(largest_difference(decision.actions, expected.actions), 2e-5);
    EXPECT_GT(largest_difference(decision.logits, other.logits), 1e-2);  // canary
  }
}

// Collects every stage by name.
class Recorder : public Tap {
 public:
  void see(Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) override {
    std::vector<float> copy(static_cast<std::size_t>(values.element_count()));
    backend.download(values, copy.data());
    stages.emplace_back(stage_name(stage, layer), std::move(copy));
  }
  std::vector<std::pair<std::string, std::vector<float>>> stages;
};

TEST(Wiring, TapsSeeEveryStageInOrder) {
  const auto config = small_config();
  const SmallCheckpoint checkpoint(config, mixed);
  const Batch batch = random_batch(config, {1, 9, 3}, 5);  // one full row: no padding to leave out
  const auto expected = reference_forward(config, checkpoint.file(), batch);
  PlainBackend backend({ops::RopeVariant::kR1H4, ops::HeadLastLayer::kAllTokens,
                        ops::AttentionOutput::kRowMajor, ops::BiasVariant::kEpilogue});
  Network network(config, checkpoint.file(), backend);
  LaunchPlan& plan = network.prepare(batch.shape);
  Decision decision = network.make_decision(plan);
  Recorder tap;
  network.encode(plan, batch, &tap);
  network.decide(plan, decision, &tap);

  std::vector<std::pair<std::string, std::vector<double>>> wanted = {
      {"embedding", expected.embedding}};
  for (std::size_t i = 0; i < expected.encoder.size(); ++i) {
    const std::string name = "encoder." + std::to_string(i);
    wanted.emplace_back(name + ".attention", expected.encoder[i].attention_branch);
    wanted.emplace_back(name + ".mlp", expected.encoder[i].mlp_branch);
    wanted.emplace_back(name, expected.encoder[i].output);
  }
  wanted.emplace_back("final", expected.final_norm);
  for (std::size_t j = 0; j < expected.decision.size(); ++j) {
    const std::string name = "decision." + std::to_string(j);
    wanted.emplace_back(name + ".attention", expected.decision[j].attention_branch);
    wanted.emplace_back(name + ".mlp", expected.decision[j].mlp_branch);
    wanted.emplace_back(name, expected.decision[j].output);
  }
  wanted.emplace_back("logits", expected.logits);
  wanted.emplace_back("actions", expected.actions);
  ASSERT_EQ(tap.stages.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(tap.stages[i].first, wanted[i].first);
    EXPECT_LT(largest_difference(tap.stages[i].second, wanted[i].second), 5e-5) << wanted[i].first;
  }
}

TEST(Wiring, ReadHiddenGivesTheRowsTheHeadsReadForBothLevels) {
  const auto config = small_config();
  const SmallCheckpoint checkpoint(config);
  const Batch batch = random_batch(config, {2, 10, 3}, 6);
  const auto expected = reference_forward(config, checkpoint.file(), batch);
  const auto d = static_cast<std::size_t>(config.hidden_size);
  std::vector<double> rows;
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t slot = 0; slot < 4; ++slot) {
      const std::int64_t position =
          slot == 0 ? 0 : batch.markers[static_cast<std::size_t>(b * 3 + slot - 1)];
      const auto first =
          expected.decision.back().output.begin() + (b * 10 + position) * config.hidden_size;
      rows.insert(rows.end(), first, first + config.hidden_size);
    }
  }
  for (const auto head : {ops::HeadLastLayer::kAllTokens, ops::HeadLastLayer::kMarkerRows}) {
    PlainBackend backend({ops::RopeVariant::kR1H4, head});
    Network network(config, checkpoint.file(), backend);
    LaunchPlan& plan = network.prepare(batch.shape);
    network.encode(plan, batch);
    std::vector<float> hidden(2 * 4 * d);
    network.read_hidden(plan, batch, hidden);
    EXPECT_LT(largest_difference(hidden, rows), 5e-5);
  }
}

TEST(Plan, BuffersDoNotOverlapAndLieInTheArena) {
  const auto config = small_config();
  const SmallCheckpoint checkpoint(config);
  for (const ops::Choices& choices : all_choices()) {
    PlainBackend backend(choices);
    Network network(config, checkpoint.file(), backend);
    LaunchPlan& plan = network.prepare({2, 7, 3});
    EXPECT_EQ(&plan, &network.prepare({2, 7, 3}));
    EXPECT_NE(&plan, &network.prepare({2, 7, 2}));
    std::size_t end = 0;
    for (const PlannedBuffer& buffer : plan.buffers) {
      EXPECT_GE(buffer.offset_bytes, end) << buffer.name;
      EXPECT_EQ(buffer.offset_bytes % 256, 0U) << buffer.name;
      end = buffer.offset_bytes + static_cast<std::size_t>(buffer.rows * buffer.columns) *
                                      tensor::size_bytes_of(buffer.dtype);
    }
    EXPECT_LE(end, plan.arena->size_bytes());
    EXPECT_TRUE(plan.note.empty());
    EXPECT_EQ(plan.choices, choices);
  }
}

TEST(Weights, AMissingOrMisshapenTensorIsNamed) {
  const auto config = small_config();
  const auto refusal = [&config](const SmallCheckpoint& checkpoint) -> std::string {
    PlainBackend backend({});
    try {
      const Network network(config, checkpoint.file(), backend);
    } catch (const base::Error& e) {
      return e.what();
    }
    return "";
  };
  const SmallCheckpoint missing(config, testing::all_f32, [](auto& specs) {
    std::erase_if(specs, [](const auto& s) { return s.name == "head.layers.1.linear2.bias"; });
  });
  EXPECT_NE(refusal(missing).find("head.layers.1.linear2.bias"), std::string::npos);
  const SmallCheckpoint misshapen(config, testing::all_f32, [](auto& specs) {
    for (auto& spec : specs) {
      if (spec.name == "encoder.layers.2.attn.Wo.weight") spec.shape = {128, 64};
    }
  });
  const std::string says = refusal(misshapen);
  EXPECT_NE(says.find("encoder.layers.2.attn.Wo.weight"), std::string::npos) << says;
  EXPECT_NE(says.find("[128, 128]"), std::string::npos) << says;
}

// English, 1 x 64 with four options: 43.92 GF of encoder products, 3.22 of decision layers' at all
// tokens, 0.168 + 0.302 + 0.034 of attention.
TEST(Work, TheWholePassAddsUpToThePublishedTable) {
  const auto english = checkpoint::family_config("english");
  ops::Choices choices;
  choices.head_last_layer = ops::HeadLastLayer::kAllTokens;
  const auto work = encode_work({1, 64, 4}, english, choices, ops::Precision::kBf16);
  EXPECT_NEAR(work.flops / 1e9, 43.92 + 3.22 + 0.168 + 0.302 + 0.034, 0.25);
  EXPECT_GT(work.bytes, 739.5e6 - 5e6);
  choices.head_last_layer = ops::HeadLastLayer::kMarkerRows;
  EXPECT_LT(encode_work({1, 64, 4}, english, choices, ops::Precision::kBf16).flops, work.flops);
}

}  // namespace
}  // namespace abba::model
