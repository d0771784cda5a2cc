#include "engine/ops/reference/reference_network.h"

#include <cstddef>

#include "engine/base/error.h"
#include "engine/base/half.h"

namespace abba::ops::reference {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

void add_to(Values& residual, const Values& branch) {
  ABBA_CHECK(residual.size() == branch.size());
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += branch[i];
}

// One pass over one input.
class Pass {
 public:
  Pass(const NetworkSizes& sizes, const WeightSource& weights, const NetworkInput& input,
       const NetworkOptions& options)
      : sizes_(sizes),
        weights_(weights),
        input_(input),
        options_(options),
        tokens_(input.rows * input.tokens) {}

  NetworkRecord run() {
    NetworkRecord record;
    record.embedding = embedding();
    Values x = record.embedding;
    for (std::size_t i = 0; i < sizes_.full_layers.size(); ++i) {
      record.encoder.push_back(encoder_layer(static_cast<int>(i), x));
      x = record.encoder.back().output;
    }
    record.final_norm = norm(x, "encoder.final_norm.weight", "");
    x = type_embedding({input_.rows, input_.tokens, sizes_.hidden}, record.final_norm,
                       rounded("type_emb.weight", 3 * sizes_.hidden), input_.types);
    for (int j = 0; j < static_cast<int>(sizes_.decision_layers); ++j) {
      record.decision.push_back(decision_layer(j, x));
      x = record.decision.back().output;
    }
    heads(x, record);
    return record;
  }

 private:
  [[nodiscard]] std::vector<float> raw(const std::string& name, std::int64_t count) const {
    std::vector<float> values = weights_(name, 0, count);
    ABBA_CHECK(values.size() == at(count));
    return values;
  }
  [[nodiscard]] std::vector<float> matrix(const std::string& name, std::int64_t count) const {
    std::vector<float> values = raw(name, count);
    if (options_.round_weights) {
      for (float& value : values) value = base::round_to_bf16(value);
    }
    return values;
  }
  [[nodiscard]] Values kept(const std::string& name, std::int64_t count) const {
    const std::vector<float> values = raw(name, count);
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Values rounded(const std::string& name, std::int64_t count) const {
    const std::vector<float> values = matrix(name, count);
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Values norm(const Values& x, const std::string& gain,
                            const std::string& bias) const {
    const std::int64_t d = sizes_.hidden;
    const NormProblem problem{static_cast<std::int64_t>(x.size()) / d, d, sizes_.epsilon};
    return layer_norm(problem, x, kept(gain, d), bias.empty() ? Values{} : kept(bias, d));
  }
  // `bias` may be empty.
  [[nodiscard]] Values linear(const Values& x, std::int64_t out, std::int64_t in,
                              const std::string& weight, const std::string& bias,
                              Epilogue epilogue = Epilogue::kNone) const {
    const std::int64_t rows = static_cast<std::int64_t>(x.size()) / in;
    const std::int64_t weight_rows = epilogue == Epilogue::kGeglu ? 2 * out : out;
    return matmul({rows, out, in, epilogue, !bias.empty()}, x, matrix(weight, weight_rows * in),
                  bias.empty() ? Values{} : rounded(bias, out));
  }
  [[nodiscard]] Values named_linear(const Values& x, std::int64_t out, std::int64_t in,
                                    const std::string& name,
                                    Epilogue epilogue = Epilogue::kNone) const {
    return linear(x, out, in, name + ".weight", name + ".bias", epilogue);
  }

  // Only the rows of the table that are used are read.
  Values embedding() {
    const std::int64_t d = sizes_.hidden;
    std::vector<float> rows;
    std::vector<std::int32_t> places;
    for (const std::int32_t id : input_.ids) {
      ABBA_CHECK(id >= 0 && id < sizes_.vocabulary);
      const auto row = weights_("encoder.embeddings.tok_embeddings.weight", id * d, d);
      rows.insert(rows.end(), row.begin(), row.end());
      places.push_back(static_cast<std::int32_t>(places.size()));
    }
    return embed_norm({tokens_, d, tokens_, sizes_.epsilon}, rows,
                      kept("encoder.embeddings.norm.weight", d), places);
  }

  LayerRecord encoder_layer(int layer, const Values& x) {
    const std::string name = "encoder.layers." + std::to_string(layer) + ".";
    const std::int64_t d = sizes_.hidden;
    const bool full = sizes_.full_layers[at(layer)];
    LayerRecord record;
    record.input = x;
    Values qkv = linear(layer == 0 ? x : norm(x, name + "attn_norm.weight", ""), 3 * d, d,
                        name + "attn.Wqkv.weight", "");
    rope({input_.rows, input_.tokens, sizes_.heads},
         full ? sizes_.theta_full : sizes_.theta_sliding, options_.round_weights, qkv);
    const Values attended = attention(AttentionProblem{input_.rows, input_.tokens, sizes_.heads,
                                                       full ? kFullAttention : sizes_.half_window},
                                      qkv, input_.lengths);
    record.attention_branch = linear(attended, d, d, name + "attn.Wo.weight", "");
    record.output = x;
    add_to(record.output, record.attention_branch);
    const Values gated = linear(norm(record.output, name + "mlp_norm.weight", ""), sizes_.gated, d,
                                name + "mlp.Wi.weight", "", Epilogue::kGeglu);
    record.mlp_branch = linear(gated, d, sizes_.gated, name + "mlp.Wo.weight", "");
    add_to(record.output, record.mlp_branch);
    return record;
  }

  LayerRecord decision_layer(int layer, const Values& x) {
    const std::string name = "head.layers." + std::to_string(layer) + ".";
    const std::int64_t d = sizes_.hidden;
    LayerRecord record;
    record.input = x;
    const Values qkv = linear(norm(x, name + "norm1.weight", name + "norm1.bias"), 3 * d, d,
                              name + "self_attn.in_proj_weight", name + "self_attn.in_proj_bias");
    const Values attended =
        attention(AttentionProblem{input_.rows, input_.tokens, sizes_.heads}, qkv, input_.lengths);
    record.attention_branch = named_linear(attended, d, d, name + "self_attn.out_proj");
    record.output = x;
    add_to(record.output, record.attention_branch);
    const Values hidden =
        named_linear(norm(record.output, name + "norm2.weight", name + "norm2.bias"), 4 * d, d,
                     name + "linear1", Epilogue::kRelu);
    record.mlp_branch = named_linear(hidden, d, 4 * d, name + "linear2");
    add_to(record.output, record.mlp_branch);
    return record;
  }

  void heads(const Values& x, NetworkRecord& record) {
    const std::int64_t d = sizes_.hidden;
    std::vector<std::int32_t> markers;
    std::vector<std::int32_t> first;
    for (std::int64_t b = 0; b < input_.rows; ++b) {
      first.push_back(static_cast<std::int32_t>(b * input_.tokens));
      for (std::int64_t k = 0; k < input_.options; ++k) {
        markers.push_back(first.back() + input_.markers[at(b * input_.options + k)]);
      }
    }
    const std::int64_t slots = input_.rows * input_.options;
    const Values marked = gather_rows({slots, tokens_, d}, x, markers);
    const Values hidden = named_linear(norm(marked, "scorer.0.weight", "scorer.0.bias"), d, d,
                                       "scorer.1", Epilogue::kGelu);
    const ActionInput action =
        action_features({input_.rows, input_.options, d}, named_linear(hidden, 1, d, "scorer.3"),
                        input_.counts, gather_rows({input_.rows, tokens_, d}, x, first));
    record.logits = action.logits;
    const Values act_hidden = named_linear(action.features, sizes_.action_hidden,
                                           d + kActionFeatures, "act_head.0", Epilogue::kGelu);
    record.actions = named_linear(act_hidden, sizes_.actions, sizes_.action_hidden, "act_head.2");
  }

  const NetworkSizes& sizes_;
  const WeightSource& weights_;
  const NetworkInput& input_;
  const NetworkOptions options_;
  const std::int64_t tokens_;
};

}  // namespace

NetworkRecord run_network(const NetworkSizes& sizes, const WeightSource& weights,
                          const NetworkInput& input, const NetworkOptions& options) {
  return Pass(sizes, weights, input, options).run();
}

}  // namespace abba::ops::reference
