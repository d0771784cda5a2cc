#include "engine/model/network.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/base/error.h"

namespace abba::model {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::string stage_name(Stage stage, int layer) {
  const std::string number = std::to_string(layer);
  switch (stage) {
    case Stage::kEmbedding:
      return "embedding";
    case Stage::kAttentionBranch:
      return "encoder." + number + ".attention";
    case Stage::kMlpBranch:
      return "encoder." + number + ".mlp";
    case Stage::kLayer:
      return "encoder." + number;
    case Stage::kFinal:
      return "final";
    case Stage::kDecisionAttentionBranch:
      return "decision." + number + ".attention";
    case Stage::kDecisionMlpBranch:
      return "decision." + number + ".mlp";
    case Stage::kDecisionLayer:
      return "decision." + number;
    case Stage::kLogits:
      return "logits";
    default:
      return "actions";
  }
}

Network::Network(const checkpoint::ModelConfig& config, const checkpoint::SafetensorsFile& file,
                 ops::Backend& backend)
    : config_(config), backend_(backend), weights_(load_weights(config, file, backend)) {}

LaunchPlan& Network::prepare(const Shape& shape) {
  const auto found = plans_.find(shape);
  if (found != plans_.end()) return *found->second;
  auto plan = make_plan(shape, config_, weights_, backend_);
  return *plans_.emplace(shape, std::move(plan)).first->second;
}

void Network::forget(const Shape& shape) {
  plans_.erase(shape);
}

Decision Network::make_decision(const LaunchPlan& plan) const {
  Decision decision;
  decision.logits.resize(at(plan.shape.rows * plan.shape.options));
  decision.actions.resize(at(plan.shape.rows * config_.action_count));
  return decision;
}

ops::NormProblem Network::norm_of(std::int64_t rows) const {
  return {rows, config_.hidden_size, static_cast<float>(config_.norm_eps)};
}

void Network::encode(LaunchPlan& plan, const Batch& batch, Tap* tap) {
  upload(plan, batch);
  run_encoder(plan, tap);
}

void Network::upload(LaunchPlan& plan, const Batch& batch) {
  ABBA_CHECK(batch.shape == plan.shape);
  const ops::Range range(backend_, "upload");
  check_batch(batch, config_);
  const auto [rows, tokens, options] = plan.shape;
  const bool on_picked = plan.picked.rows > 0;
  // The heads read either all token rows, L a row of the batch, or the picked ones, 1 + K.
  const std::int64_t stride = on_picked ? 1 + options : tokens;
  for (std::int64_t b = 0; b < rows; ++b) {
    plan.host_first[at(b)] = static_cast<std::int32_t>(b * stride);
    plan.host_picked[at(b * (1 + options))] = static_cast<std::int32_t>(b * tokens);
    for (std::int64_t k = 0; k < options; ++k) {
      const std::int64_t marker = batch.markers[at(b * options + k)];
      plan.host_picked[at(b * (1 + options) + 1 + k)] =
          static_cast<std::int32_t>(b * tokens + marker);
      plan.host_markers[at(b * options + k)] =
          static_cast<std::int32_t>(b * stride + (on_picked ? 1 + k : marker));
    }
  }
  std::copy(batch.counts.begin(), batch.counts.end(), plan.host_counts.begin());
  copy_inputs(plan, batch);
}

// The one place that reads the level of `upload`. Separately, the encoder's part is copied here and
// decide() copies its own; as a group, everything goes at once.
void Network::copy_inputs(LaunchPlan& plan, const Batch& batch) {
  if (plan.choices.upload == ops::Upload::kGrouped) {
    const std::array<ops::Transfer, 7> group = {{{batch.ids.data(), plan.ids},
                                                 {batch.lengths.data(), plan.lengths},
                                                 {batch.types.data(), plan.types},
                                                 {plan.host_counts.data(), plan.counts},
                                                 {plan.host_picked.data(), plan.picked_rows},
                                                 {plan.host_markers.data(), plan.marker_rows},
                                                 {plan.host_first.data(), plan.first_rows}}};
    return backend_.upload_all(group);
  }
  backend_.upload(batch.ids.data(), plan.ids);
  backend_.upload(batch.lengths.data(), plan.lengths);
  backend_.upload(batch.types.data(), plan.types);
  if (plan.picked.rows > 0) backend_.upload(plan.host_picked.data(), plan.picked_rows);
}

void Network::copy_head_inputs(LaunchPlan& plan) {
  if (plan.choices.upload == ops::Upload::kGrouped) return;
  backend_.upload(plan.host_counts.data(), plan.counts);
  backend_.upload(plan.host_markers.data(), plan.marker_rows);
  backend_.upload(plan.host_first.data(), plan.first_rows);
}

void Network::decide(LaunchPlan& plan, Decision& decision, Tap* tap) {
  score(plan, tap);
  read_decision(plan, decision);
}

void Network::score(LaunchPlan& plan, Tap* tap) {
  const auto [rows, tokens, options] = plan.shape;
  const std::int64_t d = config_.hidden_size;
  const std::int64_t slots = rows * options;
  const RowBuffers& source = plan.result();
  const ops::Range range(backend_, "head");
  copy_head_inputs(plan);

  backend_.gather_rows({slots, source.rows, d}, source.residual, plan.marker_rows, plan.markers);
  backend_.gather_rows({rows, source.rows, d}, source.residual, plan.first_rows, plan.first);

  const NormWeights& norm = weights_.scorer_norm;
  backend_.layer_norm(norm_of(slots), norm.gain, norm.bias, plan.markers, plan.scored);
  backend_.matmul(plan.scorer_first, plan.scored, plan.scorer_hidden);
  backend_.matmul(plan.scorer_second, plan.scorer_hidden, plan.raw_logits);
  backend_.action_features({rows, options, d}, plan.raw_logits, plan.counts, plan.first,
                           plan.logits, plan.features);
  backend_.matmul(plan.action_first, plan.features, plan.action_hidden);
  backend_.matmul(plan.action_second, plan.action_hidden, plan.actions);

  if (tap != nullptr) {
    tap->see(Stage::kLogits, 0, backend_, plan.logits);
    tap->see(Stage::kActions, 0, backend_, plan.actions);
  }
}

void Network::read_decision(LaunchPlan& plan, Decision& decision) {
  const auto [rows, tokens, options] = plan.shape;
  ABBA_CHECK(decision.logits.size() == at(rows * options));
  ABBA_CHECK(decision.actions.size() == at(rows * config_.action_count));
  backend_.download(plan.logits, decision.logits.data());
  backend_.download(plan.actions, decision.actions.data());
}

void Network::read_hidden(LaunchPlan& plan, const Batch& batch, std::span<float> hidden) {
  const std::int64_t d = config_.hidden_size;
  const std::int64_t picked = plan.shape.rows * (1 + plan.shape.options);
  ABBA_CHECK(batch.shape == plan.shape && hidden.size() == at(picked * d));
  const RowBuffers& source = plan.result();
  if (source.rows == picked && plan.picked.rows > 0) {
    return backend_.download(source.residual, hidden.data());
  }
  for (std::int64_t i = 0; i < picked; ++i) {
    const auto row = source.residual.slice_rows(plan.host_picked[at(i)], 1);
    backend_.download(row, &hidden[at(i * d)]);
  }
}

}  // namespace abba::model
