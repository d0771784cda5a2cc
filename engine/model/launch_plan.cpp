#include "engine/model/launch_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/model/forward_work.h"

namespace abba::model {
namespace {

using checkpoint::ModelConfig;
using ops::Epilogue;
using tensor::DType;
using tensor::View;

constexpr std::size_t kAlignmentBytes = 256;

// Collects buffers, then makes one arena and points the views into it.
class Layout {
 public:
  void add(View& view, const std::string& name, DType dtype, std::int64_t rows,
           std::int64_t columns) {
    buffers_.push_back({name, size_bytes_, dtype, rows, columns});
    views_.push_back(&view);
    const std::size_t bytes = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) *
                              tensor::size_bytes_of(dtype);
    size_bytes_ += (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  }
  void place(LaunchPlan& plan, ops::Backend& backend) {
    plan.arena = backend.make_arena(size_bytes_);
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const PlannedBuffer& b = buffers_[i];
      *views_[i] = View(plan.arena->data() + b.offset_bytes, b.dtype, {b.rows, b.columns});
    }
    plan.buffers = std::move(buffers_);
  }

 private:
  std::vector<PlannedBuffer> buffers_;
  std::vector<View*> views_;
  std::size_t size_bytes_ = 0;
};

void add_rows(Layout& layout, RowBuffers& rows, const std::string& name, std::int64_t count,
              const ModelConfig& config, const LaunchPlan& plan, DType act) {
  const std::int64_t d = config.hidden_size;
  rows.rows = count;
  layout.add(rows.residual, name + ".residual", DType::kF32, count, d);
  layout.add(rows.normed, name + ".normed", act, count, d);
  layout.add(rows.wide, name + ".wide", act, count, std::max(4 * d, config.intermediate_size));
  layout.add(rows.attended, name + ".attended", act, count, d);
  if (plan.choices.attention_output == ops::AttentionOutput::kHeadMajor) {
    layout.add(rows.by_head, name + ".by_head", act, count, d);
  }
  layout.add(rows.branch, name + ".branch", act, count, d);
}

bool uses_picked_rows(const LaunchPlan& plan, const ModelConfig& config) {
  return plan.choices.head_last_layer == ops::HeadLastLayer::kMarkerRows &&
         config.head_layer_count > 0;
}

void lay_out(LaunchPlan& plan, const ModelConfig& config, ops::Backend& backend) {
  const auto [b, l, k] = std::tuple(plan.shape.rows, plan.shape.tokens, plan.shape.options);
  const std::int64_t d = config.hidden_size;
  const std::int64_t picked = b * (1 + k);
  const DType act = backend.precision() == ops::Precision::kBf16 ? DType::kBf16 : DType::kF32;
  Layout layout;
  layout.add(plan.ids, "ids", DType::kI32, 1, b * l);
  layout.add(plan.lengths, "lengths", DType::kI32, 1, b);
  layout.add(plan.types, "types", DType::kI32, 1, b);
  layout.add(plan.counts, "counts", DType::kI32, 1, b);
  layout.add(plan.picked_rows, "picked_rows", DType::kI32, 1, picked);
  layout.add(plan.marker_rows, "marker_rows", DType::kI32, 1, b * k);
  layout.add(plan.first_rows, "first_rows", DType::kI32, 1, b);
  add_rows(layout, plan.tokens, "tokens", b * l, config, plan, act);
  if (uses_picked_rows(plan, config)) {
    add_rows(layout, plan.picked, "picked", picked, config, plan, act);
  }
  layout.add(plan.markers, "markers", DType::kF32, b * k, d);
  layout.add(plan.first, "first", DType::kF32, b, d);
  layout.add(plan.scored, "scored", act, b * k, d);
  layout.add(plan.scorer_hidden, "scorer_hidden", act, b * k, d);
  layout.add(plan.raw_logits, "raw_logits", act, b * k, 1);
  layout.add(plan.logits, "logits", DType::kF32, b, k);
  layout.add(plan.features, "features", act, b, d + ops::kActionFeatures);
  layout.add(plan.action_hidden, "action_hidden", act, b, ModelConfig::kActHiddenSize);
  layout.add(plan.actions, "actions", act, b, config.action_count);
  layout.place(plan, backend);
  // The inputs lie first, side by side: one group.
  const auto* end = static_cast<const std::byte*>(plan.first_rows.data());
  backend.plan_upload(static_cast<std::size_t>(end - plan.arena->data()) +
                      plan.first_rows.size_bytes());
}

// Resolves matrix products with one backend.
class Resolver {
 public:
  Resolver(ops::Backend& backend, ops::BiasVariant bias) : backend_(backend), bias_(bias) {}

  ops::MatmulId product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                        ops::WeightId weight, Epilogue epilogue = Epilogue::kNone) const {
    return backend_.plan_matmul({rows, columns, depth, epilogue, false}, weight, {});
  }
  // A small head layer: the bias is always in the epilogue.
  ops::MatmulId biased(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                       const LinearWeights& weights, Epilogue epilogue = Epilogue::kNone) const {
    return backend_.plan_matmul({rows, columns, depth, epilogue, true}, weights.matrix,
                                weights.bias);
  }
  // A decision layer's linear, its bias by the level of the factor `bias`.
  PlannedLinear linear(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                       const LinearWeights& weights, bool relu = false) const {
    if (bias_ == ops::BiasVariant::kEpilogue) {
      const Epilogue epilogue = relu ? Epilogue::kRelu : Epilogue::kNone;
      return {biased(rows, columns, depth, weights, epilogue), false, {}, {}};
    }
    return {product(rows, columns, depth, weights.matrix),
            true,
            {rows, columns, relu, bias_},
            weights.bias};
  }

 private:
  ops::Backend& backend_;
  ops::BiasVariant bias_;
};

void resolve_encoder(LaunchPlan& plan, const ModelConfig& config, const Weights& weights,
                     const Resolver& resolver) {
  const std::int64_t m = plan.tokens.rows;
  const std::int64_t d = config.hidden_size;
  const std::int64_t f = config.intermediate_size;
  for (const EncoderLayerWeights& w : weights.encoder) {
    plan.encoder.push_back({resolver.product(m, 3 * d, d, w.qkv),
                            resolver.product(m, d, d, w.attention_out),
                            resolver.product(m, f, d, w.mlp_up, Epilogue::kGeglu),
                            resolver.product(m, d, f, w.mlp_down)});
  }
}

void resolve_decision(LaunchPlan& plan, const ModelConfig& config, const Weights& weights,
                      const Resolver& resolver) {
  const std::int64_t d = config.hidden_size;
  const std::int64_t m = plan.tokens.rows;
  for (std::size_t j = 0; j < weights.decision.size(); ++j) {
    const DecisionLayerWeights& w = weights.decision[j];
    const bool on_picked = plan.picked.rows > 0 && j + 1 == weights.decision.size();
    const std::int64_t rows = on_picked ? plan.picked.rows : m;
    PlannedDecisionLayer planned;
    if (on_picked) {
      planned.q = resolver.linear(rows, d, d, w.q);
      planned.kv = resolver.linear(m, 2 * d, d, w.kv);
    } else {
      planned.qkv = resolver.linear(m, 3 * d, d, w.qkv);
    }
    planned.attention_out = resolver.linear(rows, d, d, w.attention_out);
    planned.up = resolver.linear(rows, 4 * d, d, w.up, true);
    planned.down = resolver.linear(rows, d, 4 * d, w.down);
    plan.decision.push_back(planned);
  }
}

void resolve_heads(LaunchPlan& plan, const ModelConfig& config, const Weights& weights,
                   const Resolver& resolver) {
  const std::int64_t d = config.hidden_size;
  const std::int64_t b = plan.shape.rows;
  const std::int64_t slots = b * plan.shape.options;
  const std::int64_t act_hidden = ModelConfig::kActHiddenSize;
  plan.scorer_first = resolver.biased(slots, d, d, weights.scorer_hidden, Epilogue::kGelu);
  plan.scorer_second = resolver.biased(slots, 1, d, weights.scorer_out);
  plan.action_first = resolver.biased(b, act_hidden, d + ops::kActionFeatures,
                                      weights.action_hidden, Epilogue::kGelu);
  plan.action_second = resolver.biased(b, config.action_count, act_hidden, weights.action_out);
}

void plan_attentions(const LaunchPlan& plan, const ModelConfig& config, ops::Backend& backend) {
  const ops::AttentionOutput layout = plan.choices.attention_output;
  for (const std::int64_t window : {ops::kFullAttention, config.half_window}) {
    backend.plan_attention(ops::AttentionProblem{plan.shape.rows, plan.shape.tokens,
                                                 config.attention_heads, window, layout});
  }
  if (plan.picked.rows > 0) {
    backend.plan_attention(ops::SubsetAttentionProblem{plan.shape.rows, 1 + plan.shape.options,
                                                       plan.shape.tokens, config.attention_heads,
                                                       layout});
  }
}

}  // namespace

std::unique_ptr<LaunchPlan> make_plan(const Shape& shape, const ModelConfig& config,
                                      const Weights& weights, ops::Backend& backend) {
  check_shape(shape, config);
  auto plan = std::make_unique<LaunchPlan>();
  plan->shape = shape;
  const ops::Extent extent{shape.rows, shape.tokens, config.attention_heads, shape.options};
  plan->choices = backend.runnable_choices(extent, &plan->note);
  lay_out(*plan, config, backend);
  const Resolver resolver(backend, plan->choices.bias);
  resolve_encoder(*plan, config, weights, resolver);
  resolve_decision(*plan, config, weights, resolver);
  resolve_heads(*plan, config, weights, resolver);
  plan_attentions(*plan, config, backend);
  plan->encode_work = encode_work(shape, config, plan->choices, backend.precision());
  plan->decide_work = decide_work(shape, config, backend.precision());
  plan->host_picked.resize(static_cast<std::size_t>(shape.rows * (1 + shape.options)));
  plan->host_markers.resize(static_cast<std::size_t>(shape.rows * shape.options));
  plan->host_first.resize(static_cast<std::size_t>(shape.rows));
  plan->host_counts.resize(static_cast<std::size_t>(shape.rows));
  return plan;
}

}  // namespace abba::model
