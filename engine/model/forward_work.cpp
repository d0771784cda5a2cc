#include "engine/model/forward_work.h"

namespace abba::model {
namespace {

using checkpoint::ModelConfig;
using ops::Epilogue;
using ops::Precision;
using ops::Work;

// Sizes of one pass, and the works that recur.
struct Sizes {
  std::int64_t b, l, k, d, f, heads, m, picked;
  Precision precision;

  Sizes(const Shape& shape, const ModelConfig& config, Precision p)
      : b(shape.rows),
        l(shape.tokens),
        k(shape.options),
        d(config.hidden_size),
        f(config.intermediate_size),
        heads(config.attention_heads),
        m(shape.rows * shape.tokens),
        picked(shape.rows * (1 + shape.options)),
        precision(p) {}

  [[nodiscard]] Work product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                             Epilogue epilogue = Epilogue::kNone) const {
    return work_of(ops::MatmulProblem{rows, columns, depth, epilogue, false}, precision);
  }
  [[nodiscard]] Work norm(std::int64_t rows, bool adds) const {
    return work_of(ops::NormProblem{rows, d}, precision, adds);
  }
  [[nodiscard]] Work transpose(std::int64_t rows_each, const ops::Choices& choices) const {
    if (choices.attention_output == ops::AttentionOutput::kRowMajor) return {};
    return work_of(ops::TransposeHeadsProblem{b, rows_each, heads}, precision);
  }
  [[nodiscard]] Work linear(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                            const ops::Choices& choices) const {
    Work work = product(rows, columns, depth);
    if (choices.bias != ops::BiasVariant::kEpilogue) {
      work += work_of(ops::BiasProblem{rows, columns, false, choices.bias}, precision);
    }
    return work;
  }
};

Work encoder_layer_work(const Sizes& s, const ops::Choices& choices, std::int64_t window) {
  Work work = s.product(s.m, 3 * s.d, s.d);
  work += work_of(ops::RopeProblem{s.b, s.l, s.heads, choices.rope}, s.precision);
  work += work_of(ops::AttentionProblem{s.b, s.l, s.heads, window}, s.precision);
  work += s.transpose(s.l, choices);
  work += s.product(s.m, s.d, s.d);
  work += s.norm(s.m, true);
  work += s.product(s.m, s.f, s.d, Epilogue::kGeglu);
  work += s.product(s.m, s.d, s.f);
  work += s.norm(s.m, true);
  return work;
}

Work decision_layer_work(const Sizes& s, const ops::Choices& choices, bool on_picked) {
  const std::int64_t rows = on_picked ? s.picked : s.m;
  Work work = s.norm(s.m, true);
  if (on_picked) {
    work += s.linear(s.m, 2 * s.d, s.d, choices);
    work += s.linear(rows, s.d, s.d, choices);
    work += work_of(ops::GatherProblem{rows, s.m, s.d}, ops::act_bytes(s.precision));
    work += work_of(ops::GatherProblem{rows, s.m, s.d}, 4);
    work += work_of(ops::SubsetAttentionProblem{s.b, 1 + s.k, s.l, s.heads}, s.precision);
    work += s.transpose(1 + s.k, choices);
  } else {
    work += s.linear(s.m, 3 * s.d, s.d, choices);
    work += work_of(ops::AttentionProblem{s.b, s.l, s.heads}, s.precision);
    work += s.transpose(s.l, choices);
  }
  work += s.linear(rows, s.d, s.d, choices);
  work += s.norm(rows, true);
  work += s.linear(rows, 4 * s.d, s.d, choices);
  work += s.linear(rows, s.d, 4 * s.d, choices);
  return work;
}

}  // namespace

Work encode_work(const Shape& shape, const ModelConfig& config, const ops::Choices& choices,
                 Precision precision) {
  const Sizes s(shape, config, precision);
  Work work = work_of(ops::EmbedNormProblem{s.m, s.d, config.vocab_size}, precision);
  for (const checkpoint::LayerType type : config.layer_types) {
    const bool full = type == checkpoint::LayerType::kFull;
    work += encoder_layer_work(s, choices, full ? ops::kFullAttention : config.half_window);
  }
  work += work_of(ops::TypeEmbeddingProblem{s.b, s.l, s.d}, precision);
  for (std::int64_t j = 0; j < config.head_layer_count; ++j) {
    const bool last = j + 1 == config.head_layer_count;
    work += decision_layer_work(s, choices,
                                last && choices.head_last_layer == ops::HeadLastLayer::kMarkerRows);
  }
  return work;
}

Work decide_work(const Shape& shape, const ModelConfig& config, Precision precision) {
  const Sizes s(shape, config, precision);
  const std::int64_t slots = s.b * s.k;
  const std::int64_t act_hidden = ModelConfig::kActHiddenSize;
  Work work = work_of(ops::GatherProblem{slots + s.b, s.m, s.d}, 4);
  work += s.norm(slots, false);
  work += s.product(slots, s.d, s.d);
  work += s.product(slots, 1, s.d);
  work += work_of(ops::ActionFeaturesProblem{s.b, s.k, s.d}, precision);
  work += s.product(s.b, act_hidden, s.d + ops::kActionFeatures);
  work += s.product(s.b, config.action_count, act_hidden);
  return work;
}

}  // namespace abba::model
