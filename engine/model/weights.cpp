#include "engine/model/weights.h"

#include <string>

#include "engine/base/error.h"

namespace abba::model {
namespace {

using checkpoint::ModelConfig;
using checkpoint::SafetensorsFile;
using ops::VectorRole;
using ops::WeightId;
using tensor::ConstView;

// Reads tensors of one file into one backend.
class Loader {
 public:
  Loader(const SafetensorsFile& file, ops::Backend& backend) : file_(file), backend_(backend) {}

  ConstView tensor(const std::string& name, const tensor::Shape& shape) const {
    const ConstView view = file_.view(name);
    if (!(view.shape() == shape)) {
      refuse(name, "has shape " + view.shape().text() + "; the config implies " + shape.text());
    }
    const auto dtype = view.dtype();
    if (dtype != tensor::DType::kF32 && dtype != tensor::DType::kF16 &&
        dtype != tensor::DType::kBf16) {
      refuse(name, "has type " + std::string(tensor::name_of(dtype)) +
                       "; the engine takes F16, BF16 and F32");
    }
    return view;
  }
  WeightId matrix(const std::string& name, std::int64_t out, std::int64_t in) const {
    const WeightId id = backend_.prepare_matrix(name, tensor(name, {out, in}));
    drop(name);
    return id;
  }
  WeightId vector(const std::string& name, std::int64_t size, VectorRole role) const {
    return backend_.prepare_vector(name, tensor(name, {size}), role);
  }
  WeightId gain(const std::string& name, std::int64_t size) const {
    return vector(name, size, VectorRole::kNorm);
  }
  NormWeights norm(const std::string& name, std::int64_t size) const {
    return {gain(name + ".weight", size), gain(name + ".bias", size)};
  }
  LinearWeights linear(const std::string& weight, const std::string& bias, std::int64_t out,
                       std::int64_t in) const {
    return {matrix(weight, out, in), vector(bias, out, VectorRole::kBias)};
  }
  LinearWeights linear(const std::string& name, std::int64_t out, std::int64_t in) const {
    return linear(name + ".weight", name + ".bias", out, in);
  }
  // Rows [first, first + count) of a linear layer of `out` rows.
  LinearWeights rows_of(const std::string& weight, const std::string& bias, std::int64_t out,
                        std::int64_t in, std::int64_t first, std::int64_t count) const {
    const ConstView rows = tensor(weight, {out, in}).slice_rows(first, count);
    const ConstView values = tensor(bias, {out}).slice_columns(first, count).reshaped({count});
    std::string range = std::to_string(first);
    range.append(":").append(std::to_string(first + count));
    return {backend_.prepare_matrix(weight + " rows " + range, rows),
            backend_.prepare_vector(bias + " rows " + range, values, VectorRole::kBias)};
  }
  void drop(const std::string& name) const { file_.drop_pages(*file_.find(name)); }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& sentence) const {
    throw base::Error(base::ErrorCode::kBadInput, file_.path() + ": " + name, sentence);
  }

  const SafetensorsFile& file_;
  ops::Backend& backend_;
};

EncoderLayerWeights encoder_layer(const Loader& loader, const ModelConfig& config, int layer) {
  const std::string name = "encoder.layers." + std::to_string(layer) + ".";
  const std::int64_t d = config.hidden_size;
  const std::int64_t f = config.intermediate_size;
  EncoderLayerWeights weights;
  if (layer > 0) weights.attention_norm = loader.gain(name + "attn_norm.weight", d);
  weights.qkv = loader.matrix(name + "attn.Wqkv.weight", 3 * d, d);
  weights.attention_out = loader.matrix(name + "attn.Wo.weight", d, d);
  weights.mlp_norm = loader.gain(name + "mlp_norm.weight", d);
  weights.mlp_up = loader.matrix(name + "mlp.Wi.weight", 2 * f, d);
  weights.mlp_down = loader.matrix(name + "mlp.Wo.weight", d, f);
  return weights;
}

DecisionLayerWeights decision_layer(const Loader& loader, const ModelConfig& config, int layer,
                                    bool split_qkv) {
  const std::string name = "head.layers." + std::to_string(layer) + ".";
  const std::string weight = name + "self_attn.in_proj_weight";
  const std::string bias = name + "self_attn.in_proj_bias";
  const std::int64_t d = config.hidden_size;
  DecisionLayerWeights weights;
  weights.norm1 = loader.norm(name + "norm1", d);
  if (split_qkv) {
    weights.q = loader.rows_of(weight, bias, 3 * d, d, 0, d);
    weights.kv = loader.rows_of(weight, bias, 3 * d, d, d, 2 * d);
    loader.drop(weight);
  } else {
    weights.qkv = loader.linear(weight, bias, 3 * d, d);
  }
  weights.attention_out = loader.linear(name + "self_attn.out_proj", d, d);
  weights.norm2 = loader.norm(name + "norm2", d);
  weights.up = loader.linear(name + "linear1", 4 * d, d);
  weights.down = loader.linear(name + "linear2", d, 4 * d);
  return weights;
}

}  // namespace

Weights load_weights(const ModelConfig& config, const SafetensorsFile& file,
                     ops::Backend& backend) {
  const Loader loader(file, backend);
  const std::int64_t d = config.hidden_size;
  const std::string table = "encoder.embeddings.tok_embeddings.weight";
  Weights weights;
  weights.embedding = backend.prepare_table(table, loader.tensor(table, {config.vocab_size, d}));
  weights.embedding_norm = loader.gain("encoder.embeddings.norm.weight", d);
  for (int i = 0; i < config.layer_count; ++i) {
    weights.encoder.push_back(encoder_layer(loader, config, i));
  }
  weights.final_norm = loader.gain("encoder.final_norm.weight", d);
  weights.type_table =
      backend.prepare_type_table("type_emb.weight", loader.tensor("type_emb.weight", {3, d}));
  const bool marker_rows = backend.choices().head_last_layer == ops::HeadLastLayer::kMarkerRows;
  for (int j = 0; j < config.head_layer_count; ++j) {
    const bool last = j + 1 == config.head_layer_count;
    weights.decision.push_back(decision_layer(loader, config, j, marker_rows && last));
  }
  weights.scorer_norm = loader.norm("scorer.0", d);
  weights.scorer_hidden = loader.linear("scorer.1", d, d);
  weights.scorer_out = loader.linear("scorer.3", 1, d);
  weights.action_hidden =
      loader.linear("act_head.0", ModelConfig::kActHiddenSize, d + ops::kActionFeatures);
  weights.action_out =
      loader.linear("act_head.2", config.action_count, ModelConfig::kActHiddenSize);
  weights.rope_full =
      backend.prepare_rope(static_cast<float>(config.rope_theta_full), config.max_positions);
  weights.rope_sliding =
      backend.prepare_rope(static_cast<float>(config.rope_theta_sliding), config.max_positions);
  return weights;
}

}  // namespace abba::model
