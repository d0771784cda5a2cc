#include "tests/device/recorded_reference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/half.h"
#include "engine/model/network.h"
#include "engine/tensor/convert.h"
#include "tests/unit/model/cpu_network.h"
#include "tests/unit/model/sabotaged_backend.h"

namespace abba::device {
namespace {

using model::Stage;
using model::testing::Sabotage;
using model::testing::SabotagedBackend;
using ops::reference::NetworkRecord;
using ops::reference::Values;

std::vector<float> floats_of(tensor::ConstView weight) {
  std::vector<float> values(static_cast<std::size_t>(weight.element_count()));
  tensor::convert(weight, values.data());
  return values;
}

// fp32 arithmetic on the weights that a bf16 engine holds.
class RoundedWeights : public SabotagedBackend {
 public:
  explicit RoundedWeights(ops::Backend& real)
      : SabotagedBackend(real, Sabotage::kNone, 0), real_(real) {}

  ops::WeightId prepare_matrix(std::string_view name, tensor::ConstView weight) override {
    const std::vector<float> values = rounded(weight);
    return real_.prepare_matrix(name, {values.data(), tensor::DType::kF32, weight.shape()});
  }
  ops::WeightId prepare_vector(std::string_view name, tensor::ConstView weight,
                               ops::VectorRole role) override {
    if (role == ops::VectorRole::kNorm) return real_.prepare_vector(name, weight, role);
    const std::vector<float> values = rounded(weight);
    return real_.prepare_vector(name, {values.data(), tensor::DType::kF32, weight.shape()}, role);
  }
  ops::WeightId prepare_type_table(std::string_view name, tensor::ConstView weight) override {
    const std::vector<float> values = rounded(weight);
    return real_.prepare_type_table(name, {values.data(), tensor::DType::kF32, weight.shape()});
  }
  ops::WeightId prepare_rope(float theta, std::int64_t positions) override {
    const ops::WeightId id = real_.prepare_rope(theta, positions);
    thetas_[id.index] = theta;
    return id;
  }
  // The host's table is fp32: the pass once more with one of bf16.
  void rope(const ops::RopeProblem& p, ops::WeightId table, tensor::View qkv) override {
    make_table(thetas_.at(table.index), p.length);
    const std::int64_t width = p.heads * ops::kHeadDim;
    for (std::int64_t token = 0; token < p.batch * p.length; ++token) {
      const float* cosines = &table_[static_cast<std::size_t>(token % p.length * ops::kHeadDim)];
      float* q_and_k = qkv.as<float>() + token * 3 * width;
      for (std::int64_t head = 0; head < 2 * p.heads; ++head) {
        rotate(cosines, q_and_k + head * ops::kHeadDim);
      }
    }
  }

 private:
  static constexpr std::int64_t kHalf = ops::kHeadDim / 2;

  static std::vector<float> rounded(tensor::ConstView weight) {
    std::vector<float> values = floats_of(weight);
    for (float& value : values) value = base::round_to_bf16(value);
    return values;
  }
  // [length, 2, 32]: cosines, sines.
  void make_table(float theta, std::int64_t length) {
    if (theta == theta_ && static_cast<std::int64_t>(table_.size()) >= length * ops::kHeadDim)
      return;
    theta_ = theta;
    table_.resize(static_cast<std::size_t>(length * ops::kHeadDim));
    for (std::int64_t i = 0; i < length * kHalf; ++i) {
      const double angle = ops::reference::rope_angle(theta, i / kHalf, i % kHalf);
      const auto to = static_cast<std::size_t>(i / kHalf * ops::kHeadDim + i % kHalf);
      table_[to] = base::round_to_bf16(static_cast<float>(std::cos(angle)));
      table_[to + kHalf] = base::round_to_bf16(static_cast<float>(std::sin(angle)));
    }
  }
  static void rotate(const float* cosines, float* x) {
    for (std::int64_t d = 0; d < kHalf; ++d) {
      const float low = x[d];
      const float high = x[d + kHalf];
      x[d] = low * cosines[d] - high * cosines[d + kHalf];
      x[d + kHalf] = high * cosines[d] + low * cosines[d + kHalf];
    }
  }

  ops::Backend& real_;
  std::map<std::int32_t, float> thetas_;
  float theta_ = 0.0F;
  std::vector<float> table_;
};

// Takes every stage down. Each layer's input is the output of the one before.
class RecordingTap : public model::Tap {
 public:
  explicit RecordingTap(NetworkRecord& record) : record_(record) {}
  void see(Stage stage, int layer, ops::Backend& backend, tensor::ConstView values) override {
    std::vector<float> host(static_cast<std::size_t>(values.element_count()));
    backend.download(values, host.data());
    Values wide(host.begin(), host.end());
    const auto at = static_cast<std::size_t>(layer);
    switch (stage) {
      case Stage::kEmbedding:
        record_.embedding = std::move(wide);
        break;
      case Stage::kFinal:
        record_.final_norm = std::move(wide);
        break;
      case Stage::kAttentionBranch:
        record_.encoder.emplace_back().attention_branch = std::move(wide);
        record_.encoder.back().input =
            layer == 0 ? record_.embedding : record_.encoder[at - 1].output;
        break;
      case Stage::kMlpBranch:
        record_.encoder[at].mlp_branch = std::move(wide);
        break;
      case Stage::kLayer:
        record_.encoder[at].output = std::move(wide);
        break;
      case Stage::kDecisionAttentionBranch:
        record_.decision.emplace_back().attention_branch = std::move(wide);
        if (layer > 0) record_.decision.back().input = record_.decision[at - 1].output;
        break;
      case Stage::kDecisionMlpBranch:
        record_.decision[at].mlp_branch = std::move(wide);
        break;
      case Stage::kDecisionLayer:
        record_.decision[at].output = std::move(wide);
        break;
      default:
        break;
    }
  }

 private:
  NetworkRecord& record_;
};

}  // namespace

NetworkRecord record_reference(const checkpoint::ModelConfig& config,
                               const checkpoint::SafetensorsFile& file, const model::Batch& batch,
                               bool round_weights, int threads) {
  ops::Choices choices;
  choices.head_last_layer = ops::HeadLastLayer::kAllTokens;  // every token of every stage
  const auto host =
      model::testing::cpu_backend(ops::Precision::kFp32, choices, std::max(threads, 1));
  RoundedWeights rounding(*host);
  ops::Backend& backend = round_weights ? rounding : *host;
  model::Network network(config, file, backend);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  NetworkRecord record;
  RecordingTap tap(record);
  network.encode(plan, batch, &tap);
  model::Decision decision = network.make_decision(plan);
  network.decide(plan, decision);
  record.logits.assign(decision.logits.begin(), decision.logits.end());
  record.actions.assign(decision.actions.begin(), decision.actions.end());
  // The decision layers' input is no stage: final norm plus the type's row.
  std::vector<float> types = floats_of(file.view("type_emb.weight"));
  if (round_weights) {
    for (float& value : types) value = base::round_to_bf16(value);
  }
  const auto width = static_cast<std::size_t>(config.hidden_size);
  const auto tokens = static_cast<std::size_t>(batch.shape.tokens);
  Values& input = record.decision.front().input = record.final_norm;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto type = static_cast<std::size_t>(batch.types[i / width / tokens]);
    input[i] = static_cast<float>(input[i]) + types[type * width + i % width];
  }
  return record;
}

}  // namespace abba::device
