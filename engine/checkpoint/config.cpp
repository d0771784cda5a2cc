#include "engine/checkpoint/config.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace abba::checkpoint {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

[[noreturn]] void refuse(std::string_view where, const std::string& message) {
  throw Error(ErrorCode::kBadInput, std::string(where), message);
}

// Integer `key` in [low, high]; `fallback` if absent (required when negative).
std::int64_t read_int(const Json& json, std::string_view where, std::string_view key,
                      std::int64_t low, std::int64_t high, std::int64_t fallback = -1) {
  const Json* member = json.find(key);
  if ((member == nullptr || member->is_null()) && fallback >= 0) return fallback;
  const std::int64_t value = json.get_int(key, where);
  if (value < low || value > high) {
    refuse(where, "\"" + std::string(key) + "\" is " + std::to_string(value) + ", outside " +
                      std::to_string(low) + ".." + std::to_string(high));
  }
  return value;
}

double read_positive(const Json& json, std::string_view where, std::string_view key,
                     double fallback) {
  const Json* member = json.find(key);
  if (member == nullptr || member->is_null()) return fallback;
  const double value = json.get_double(key, where);
  if (!std::isfinite(value) || value <= 0) {
    refuse(where, "\"" + std::string(key) + "\" must be a positive number");
  }
  return value;
}

void require_text(const Json& json, std::string_view where, std::string_view key,
                  std::string_view wanted) {
  if (json.find(key) == nullptr) return;
  const std::string& found = json.get_string(key, where);
  if (found != wanted) {
    refuse(where, "\"" + std::string(key) + "\" is \"" + found +
                      "\"; this engine computes only \"" + std::string(wanted) + "\"");
  }
}

void require_false(const Json& json, std::string_view where, std::string_view key) {
  if (json.find(key) != nullptr && json.get_bool(key, where)) {
    refuse(where, "\"" + std::string(key) + "\" is true; this engine has no such bias");
  }
}

// theta of one layer type: rope_parameters.<type>.rope_theta, else the flat key, else `fallback`.
double read_theta(const Json& encoder, std::string_view where, std::string_view type,
                  std::string_view flat_key, double fallback) {
  const Json* parameters = encoder.find("rope_parameters");
  const Json* entry = parameters != nullptr ? parameters->find(type) : nullptr;
  if (entry == nullptr) return read_positive(encoder, where, flat_key, fallback);
  const std::string inner = std::string(where) + " rope_parameters." + std::string(type);
  if (!entry->is_object()) refuse(inner, "must be an object");
  require_text(*entry, inner, "rope_type", "default");
  return read_positive(*entry, inner, "rope_theta", fallback);
}

std::vector<LayerType> read_layer_types(const Json& encoder, std::string_view where,
                                        std::int64_t layer_count) {
  std::vector<LayerType> types;
  if (encoder.find("layer_types") == nullptr) {
    const std::int64_t every = read_int(encoder, where, "global_attn_every_n_layers", 1, 1024, 3);
    for (std::int64_t i = 0; i < layer_count; ++i) {
      types.push_back(i % every == 0 ? LayerType::kFull : LayerType::kSliding);
    }
    return types;
  }
  for (const Json& entry : encoder.get_array("layer_types", where)) {
    if (entry == Json("full_attention")) {
      types.push_back(LayerType::kFull);
    } else if (entry == Json("sliding_attention")) {
      types.push_back(LayerType::kSliding);
    } else {
      refuse(where,
             "\"layer_types\" holds something other than \"full_attention\" and "
             "\"sliding_attention\"");
    }
  }
  if (static_cast<std::int64_t>(types.size()) != layer_count) {
    refuse(where, "\"layer_types\" has " + std::to_string(types.size()) + " entries for " +
                      std::to_string(layer_count) + " layers");
  }
  return types;
}

void read_encoder(const Json& encoder, std::string_view where, ModelConfig& config) {
  if (!encoder.is_object()) refuse(where, "must hold an object");
  require_text(encoder, where, "model_type", "modernbert");
  require_text(encoder, where, "hidden_activation", "gelu");
  for (const auto* key : {"norm_bias", "attention_bias", "mlp_bias"}) {
    require_false(encoder, where, key);
  }
  config.hidden_size = read_int(encoder, where, "hidden_size", ModelConfig::kHeadSize, 16384);
  config.layer_count = read_int(encoder, where, "num_hidden_layers", 1, 512);
  config.attention_heads = read_int(encoder, where, "num_attention_heads", 1, 256);
  config.intermediate_size = read_int(encoder, where, "intermediate_size", 1, 131072);
  config.vocab_size = read_int(encoder, where, "vocab_size", 1, 4194304);
  config.max_positions = read_int(encoder, where, "max_position_embeddings", 1, 1048576, 8192);
  config.half_window = read_int(encoder, where, "local_attention", 2, 1048576, 128) / 2;
  config.pad_token_id = read_int(encoder, where, "pad_token_id", 0, config.vocab_size - 1, 0);
  config.norm_eps = read_positive(encoder, where, "norm_eps",
                                  read_positive(encoder, where, "layer_norm_eps", 1e-5));
  if (config.hidden_size != config.attention_heads * ModelConfig::kHeadSize) {
    refuse(where, "\"hidden_size\" " + std::to_string(config.hidden_size) + " is not 64 times " +
                      "\"num_attention_heads\" " + std::to_string(config.attention_heads));
  }
  config.rope_theta_full =
      read_theta(encoder, where, "full_attention", "global_rope_theta", 160000);
  config.rope_theta_sliding =
      read_theta(encoder, where, "sliding_attention", "local_rope_theta", 10000);
  config.layer_types = read_layer_types(encoder, where, config.layer_count);
}

double clamped_temperature(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.as_double())) return 1;
  return std::clamp(value.as_double(), 0.5, 5.0);
}

void read_temperatures(const Json& agent, std::string_view where, ModelConfig& config) {
  if (agent.find("temperature") != nullptr) {
    const Json::Array& values = agent.get_array("temperature", where);
    if (values.size() != 3) refuse(where, "\"temperature\" must have three numbers");
    for (std::size_t i = 0; i < 3; ++i) config.temperature[i] = clamped_temperature(values[i]);
  }
  const Json* by_options = agent.find("temperature_by_options");
  if (by_options == nullptr || by_options->is_null()) return;
  if (!by_options->is_object()) refuse(where, "\"temperature_by_options\" must be an object");
  for (const auto& [key, value] : by_options->as_object()) {
    config.temperature_by_options.emplace_back(key, clamped_temperature(value));
  }
}

void read_agent(const Json& agent, std::string_view where, ModelConfig& config) {
  if (!agent.is_object()) refuse(where, "must hold an object");
  config.head_layer_count = read_int(agent, where, "head_layers", 1, 64, 2);
  config.max_len = read_int(agent, where, "max_len", 16, config.max_positions, 512);
  config.head_max_len = read_int(agent, where, "head_max_len", 8, config.max_len, 192);
  if (const Json* costs = agent.find("act_costs"); costs != nullptr) {
    if (!costs->is_object() || costs->as_object().size() > 255) {
      refuse(where, "\"act_costs\" must be an object of at most 255 costs");
    }
    config.action_count = 1 + static_cast<std::int64_t>(costs->as_object().size());
  }
  const Json* layout = agent.find("option_layout");
  if (layout != nullptr && !(*layout == Json("sequential"))) {
    refuse(where, "\"option_layout\" is " + layout->dump() +
                      "; this engine computes \"sequential\" only, options one after the other");
  }
  if (agent.find("amp_dtype") != nullptr) config.amp_dtype = agent.get_string("amp_dtype", where);
  read_temperatures(agent, where, config);
}

}  // namespace

ModelConfig parse_config(const Json& encoder, std::string_view encoder_where, const Json& agent,
                         std::string_view agent_where) {
  ModelConfig config;
  read_encoder(encoder, encoder_where, config);
  read_agent(agent, agent_where, config);
  return config;
}

ModelConfig read_config(const std::string& checkpoint_dir) {
  const base::JsonLimits limits{.max_bytes = std::size_t{1} << 20U, .max_depth = 16};
  const std::string encoder_path = checkpoint_dir + "/encoder/config.json";
  const std::string agent_path = checkpoint_dir + "/rl_agent_config.json";
  const Json encoder = base::parse_json_file(encoder_path, limits);
  const Json agent = base::parse_json_file(agent_path, limits);
  return parse_config(encoder, encoder_path, agent, agent_path);
}

Json encoder_json(const ModelConfig& config) {
  Json layer_types = Json::array();
  for (const LayerType type : config.layer_types) {
    layer_types.push_back(type == LayerType::kFull ? "full_attention" : "sliding_attention");
  }
  const auto rope = [](double theta) {
    return Json::object({{"rope_theta", theta}, {"rope_type", "default"}});
  };
  Json json = Json::object({{"model_type", "modernbert"},
                            {"hidden_size", config.hidden_size},
                            {"num_hidden_layers", config.layer_count},
                            {"num_attention_heads", config.attention_heads},
                            {"intermediate_size", config.intermediate_size},
                            {"vocab_size", config.vocab_size},
                            {"max_position_embeddings", config.max_positions},
                            {"norm_eps", config.norm_eps},
                            {"norm_bias", false},
                            {"attention_bias", false},
                            {"mlp_bias", false},
                            {"hidden_activation", "gelu"},
                            {"local_attention", 2 * config.half_window},
                            {"pad_token_id", config.pad_token_id}});
  json.set("layer_types", std::move(layer_types));
  json.set("rope_parameters",
           Json::object({{"full_attention", rope(config.rope_theta_full)},
                         {"sliding_attention", rope(config.rope_theta_sliding)}}));
  return json;
}

Json agent_json(const ModelConfig& config) {
  Json costs = Json::object();
  for (std::int64_t i = 1; i < config.action_count; ++i) {
    costs.set(i == 1 ? "escalate" : "action_" + std::to_string(i), 0.5);
  }
  Json temperature = Json::array();
  for (const double value : config.temperature) temperature.push_back(value);
  Json by_options = Json::object();
  for (const auto& [key, value] : config.temperature_by_options) by_options.set(key, value);
  return Json::object({{"encoder", "synthetic"},
                       {"model_name", "rl-agent"},
                       {"head_layers", config.head_layer_count},
                       {"max_len", config.max_len},
                       {"head_max_len", config.head_max_len},
                       {"act_costs", std::move(costs)},
                       {"amp_dtype", config.amp_dtype},
                       {"temperature", std::move(temperature)},
                       {"temperature_by_options", std::move(by_options)}});
}

}  // namespace abba::checkpoint
