#include "engine/checkpoint/inventory.h"

namespace abba::checkpoint {
namespace {

using tensor::Shape;

void add_encoder_layer(std::vector<TensorSpec>& specs, const ModelConfig& config,
                       std::int64_t layer) {
  const std::int64_t d = config.hidden_size;
  const std::int64_t f = config.intermediate_size;
  const std::string prefix = "encoder.layers." + std::to_string(layer) + ".";
  if (layer > 0) specs.push_back({prefix + "attn_norm.weight", Shape{d}});
  specs.push_back({prefix + "attn.Wqkv.weight", Shape{3 * d, d}});
  specs.push_back({prefix + "attn.Wo.weight", Shape{d, d}});
  specs.push_back({prefix + "mlp_norm.weight", Shape{d}});
  specs.push_back({prefix + "mlp.Wi.weight", Shape{2 * f, d}});
  specs.push_back({prefix + "mlp.Wo.weight", Shape{d, f}});
}

// `name`.weight [out, in] and `name`.bias [out].
void add_linear(std::vector<TensorSpec>& specs, const std::string& name, std::int64_t out,
                std::int64_t in) {
  specs.push_back({name + ".weight", Shape{out, in}});
  specs.push_back({name + ".bias", Shape{out}});
}

// LayerNorm: `name`.weight and `name`.bias [size].
void add_norm(std::vector<TensorSpec>& specs, const std::string& name, std::int64_t size) {
  specs.push_back({name + ".weight", Shape{size}});
  specs.push_back({name + ".bias", Shape{size}});
}

void add_decision_layer(std::vector<TensorSpec>& specs, std::int64_t d, std::int64_t layer) {
  const std::string prefix = "head.layers." + std::to_string(layer) + ".";
  specs.push_back({prefix + "self_attn.in_proj_weight", Shape{3 * d, d}});
  specs.push_back({prefix + "self_attn.in_proj_bias", Shape{3 * d}});
  add_linear(specs, prefix + "self_attn.out_proj", d, d);
  add_linear(specs, prefix + "linear1", 4 * d, d);
  add_linear(specs, prefix + "linear2", d, 4 * d);
  add_norm(specs, prefix + "norm1", d);
  add_norm(specs, prefix + "norm2", d);
}

}  // namespace

std::vector<TensorSpec> tensor_inventory(const ModelConfig& config) {
  const std::int64_t d = config.hidden_size;
  std::vector<TensorSpec> specs;
  specs.push_back({"encoder.embeddings.tok_embeddings.weight", Shape{config.vocab_size, d}});
  specs.push_back({"encoder.embeddings.norm.weight", Shape{d}});
  for (std::int64_t i = 0; i < config.layer_count; ++i) add_encoder_layer(specs, config, i);
  specs.push_back({"encoder.final_norm.weight", Shape{d}});
  specs.push_back({"type_emb.weight", Shape{3, d}});
  for (std::int64_t j = 0; j < config.head_layer_count; ++j) add_decision_layer(specs, d, j);
  add_norm(specs, "scorer.0", d);
  add_linear(specs, "scorer.1", d, d);
  add_linear(specs, "scorer.3", 1, d);
  add_linear(specs, "act_head.0", ModelConfig::kActHiddenSize, d + 4);
  add_linear(specs, "act_head.2", config.action_count, ModelConfig::kActHiddenSize);
  specs.push_back({"temperature", Shape{3}});
  return specs;
}

std::string model_path(const std::string& checkpoint_dir) {
  return checkpoint_dir + "/model.safetensors";
}

}  // namespace abba::checkpoint
