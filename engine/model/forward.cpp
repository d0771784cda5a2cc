// The forward pass, in the order of the model's definition: embedding, encoder layers, final norm,
// type embedding, decision layers. Each operation is one call of the backend; shapes are in the
// comments.
#include <cstddef>

#include "engine/base/error.h"
#include "engine/model/network.h"

namespace abba::model {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// The first `columns` of a wide buffer's memory, packed as [rows, columns].
tensor::View packed(const tensor::View& wide, std::int64_t rows, std::int64_t columns) {
  ABBA_CHECK(rows * columns <= wide.element_count());
  return {wide.data(), wide.dtype(), {rows, columns}};
}

}  // namespace

// y = x W^T + b, the bias in the product's epilogue or as its own operation.
void Network::linear(const PlannedLinear& planned, tensor::ConstView x, tensor::View y) {
  backend_.matmul(planned.matmul, x, y);
  if (planned.separate_bias) backend_.add_bias(planned.bias_problem, planned.bias, y);
}

void Network::run_encoder(LaunchPlan& plan, Tap* tap) {
  const ops::Range range(backend_, "encoder");
  const RowBuffers& t = plan.tokens;
  backend_.embed_norm(
      {t.rows, config_.hidden_size, config_.vocab_size, static_cast<float>(config_.norm_eps)},
      weights_.embedding, weights_.embedding_norm, plan.ids, t.residual, t.normed);
  if (tap != nullptr) tap->see(Stage::kEmbedding, 0, backend_, t.residual);

  const int layer_count = static_cast<int>(config_.layer_count);
  for (int i = 0; i < layer_count; ++i) {
    start_encoder_layer(plan, i, tap);
    run_encoder_layer(plan, i, tap);
  }
  if (tap != nullptr) tap->see(Stage::kFinal, 0, backend_, t.normed);

  // x = h + type embedding: the residual stream of the decision layers starts here.
  backend_.type_embedding({plan.shape.rows, plan.shape.tokens, config_.hidden_size},
                          weights_.type_table, t.normed, plan.types, t.residual);
  const int decision_count = static_cast<int>(config_.head_layer_count);
  for (int j = 0; j < decision_count; ++j) {
    start_decision_layer(plan, j, tap);
    run_decision_layer(plan, j, tap);
  }
  backend_.synchronize();
}

// A layer's input norm was computed with the residual add that ended the layer before; only a tap
// that puts another residual in place needs it again.
void Network::start_encoder_layer(LaunchPlan& plan, int layer, Tap* tap) {
  const float* input = tap != nullptr && layer > 0 ? tap->encoder_input(layer) : nullptr;
  if (input == nullptr) return;
  const RowBuffers& t = plan.tokens;
  backend_.upload(input, t.residual);
  backend_.layer_norm(norm_of(t.rows), weights_.encoder[at(layer)].attention_norm, {}, t.residual,
                      t.normed);
}

void Network::run_encoder_layer(LaunchPlan& plan, int layer, Tap* tap) {
  const ops::Range range(backend_, "encoder layer");
  const RowBuffers& t = plan.tokens;
  const std::int64_t d = config_.hidden_size;
  const std::int64_t f = config_.intermediate_size;
  const EncoderLayerWeights& w = weights_.encoder[at(layer)];
  const PlannedEncoderLayer& planned = plan.encoder[at(layer)];
  const bool full = config_.layer_types[at(layer)] == checkpoint::LayerType::kFull;

  const tensor::View qkv = packed(t.wide, t.rows, 3 * d);  // [B, L, 3, H, 64]
  backend_.matmul(planned.qkv, t.normed, qkv);
  backend_.rope({plan.shape.rows, plan.shape.tokens, config_.attention_heads, plan.choices.rope},
                full ? weights_.rope_full : weights_.rope_sliding, qkv);
  attend_tokens(plan, full ? ops::kFullAttention : config_.half_window);
  backend_.matmul(planned.attention_out, t.attended, t.branch);
  if (tap != nullptr) tap->see(Stage::kAttentionBranch, layer, backend_, t.branch);
  backend_.add_norm(norm_of(t.rows), w.mlp_norm, {}, t.branch, t.residual, t.normed);

  const tensor::View gated = packed(t.wide, t.rows, f);  // [M, F]
  backend_.matmul(planned.mlp_up, t.normed, gated);
  backend_.matmul(planned.mlp_down, gated, t.branch);
  if (tap != nullptr) tap->see(Stage::kMlpBranch, layer, backend_, t.branch);
  const bool last = layer + 1 == config_.layer_count;
  const ops::WeightId next =
      last ? weights_.final_norm : weights_.encoder[at(layer + 1)].attention_norm;
  backend_.add_norm(norm_of(t.rows), next, {}, t.branch, t.residual, t.normed);
  if (tap != nullptr) tap->see(Stage::kLayer, layer, backend_, t.residual);
}

// wide as q, k, v of all tokens -> attended. The one place that reads the level of attention_output
// for token rows; attend_picked does for picked rows.
void Network::attend_tokens(LaunchPlan& plan, std::int64_t half_window) {
  const RowBuffers& t = plan.tokens;
  const std::int64_t heads = config_.attention_heads;
  const tensor::View qkv = packed(t.wide, t.rows, 3 * config_.hidden_size);
  const ops::AttentionOutput layout = plan.choices.attention_output;
  const bool by_head = layout == ops::AttentionOutput::kHeadMajor;
  backend_.attention(
      ops::AttentionProblem{plan.shape.rows, plan.shape.tokens, heads, half_window, layout}, qkv,
      plan.lengths, by_head ? t.by_head : t.attended);
  if (by_head) {
    backend_.transpose_heads({plan.shape.rows, plan.shape.tokens, heads}, t.by_head, t.attended);
  }
}

void Network::start_decision_layer(LaunchPlan& plan, int layer, Tap* tap) {
  const float* input = tap != nullptr ? tap->decision_input(layer) : nullptr;
  const RowBuffers& t = plan.tokens;
  if (input != nullptr) backend_.upload(input, t.residual);
  // Layer 0's input is the type embedding's sum; later ones were normed with the add before them.
  if (input == nullptr && layer > 0) return;
  const NormWeights& norm = weights_.decision[at(layer)].norm1;
  backend_.layer_norm(norm_of(t.rows), norm.gain, norm.bias, t.residual, t.normed);
}

// The one place that reads the level of head_last_layer: the plan has picked rows under
// marker_rows.
void Network::run_decision_layer(LaunchPlan& plan, int layer, Tap* tap) {
  const ops::Range range(backend_, "decision layer");
  const RowBuffers& t = plan.tokens;
  const RowBuffers& p = plan.picked;
  const std::int64_t d = config_.hidden_size;
  const PlannedDecisionLayer& planned = plan.decision[at(layer)];
  const bool on_picked = p.rows > 0 && layer + 1 == config_.head_layer_count;
  if (!on_picked) {
    linear(planned.qkv, t.normed, packed(t.wide, t.rows, 3 * d));
    attend_tokens(plan, ops::kFullAttention);
    return finish_decision_layer(plan, layer, t, tap);
  }
  // Keys and values of every token; everything else of the rows that are read alone.
  linear(planned.kv, t.normed, packed(t.wide, t.rows, 2 * d));
  backend_.gather_rows({p.rows, t.rows, d}, t.normed, plan.picked_rows, p.normed);
  backend_.gather_rows({p.rows, t.rows, d}, t.residual, plan.picked_rows, p.residual);
  attend_picked(plan, planned);
  finish_decision_layer(plan, layer, p, tap);
}

void Network::attend_picked(LaunchPlan& plan, const PlannedDecisionLayer& planned) {
  const RowBuffers& p = plan.picked;
  const std::int64_t d = config_.hidden_size;
  const std::int64_t heads = config_.attention_heads;
  const std::int64_t queries = 1 + plan.shape.options;
  const ops::AttentionOutput layout = plan.choices.attention_output;
  const bool by_head = layout == ops::AttentionOutput::kHeadMajor;
  const tensor::View q = packed(p.wide, p.rows, d);  // [B, R, H, 64]
  linear(planned.q, p.normed, q);
  backend_.attention(
      ops::SubsetAttentionProblem{plan.shape.rows, queries, plan.shape.tokens, heads, layout}, q,
      packed(plan.tokens.wide, plan.tokens.rows, 2 * d), plan.lengths,
      by_head ? p.by_head : p.attended);
  if (by_head) {
    backend_.transpose_heads({plan.shape.rows, queries, heads}, p.by_head, p.attended);
  }
}

// attended -> output projection, add, norm2, FFN, add: row by row, so it takes any set of rows.
void Network::finish_decision_layer(LaunchPlan& plan, int layer, const RowBuffers& rows, Tap* tap) {
  const DecisionLayerWeights& w = weights_.decision[at(layer)];
  const PlannedDecisionLayer& planned = plan.decision[at(layer)];
  const std::int64_t d = config_.hidden_size;

  linear(planned.attention_out, rows.attended, rows.branch);
  if (tap != nullptr) tap->see(Stage::kDecisionAttentionBranch, layer, backend_, rows.branch);
  backend_.add_norm(norm_of(rows.rows), w.norm2.gain, w.norm2.bias, rows.branch, rows.residual,
                    rows.normed);

  const tensor::View ffn = packed(rows.wide, rows.rows, 4 * d);
  linear(planned.up, rows.normed, ffn);
  linear(planned.down, ffn, rows.branch);
  if (tap != nullptr) tap->see(Stage::kDecisionMlpBranch, layer, backend_, rows.branch);
  const bool last = layer + 1 == config_.head_layer_count;
  if (last) {
    backend_.add({rows.rows, d}, rows.branch, rows.residual);
  } else {
    const NormWeights& next = weights_.decision[at(layer + 1)].norm1;
    backend_.add_norm(norm_of(rows.rows), next.gain, next.bias, rows.branch, rows.residual,
                      rows.normed);
  }
  if (tap != nullptr) tap->see(Stage::kDecisionLayer, layer, backend_, rows.residual);
}

}  // namespace abba::model
