// What a checkpoint's two JSON files say about the network, in one plain struct, and the five named
// families. Reading refuses whatever the engine cannot compute faithfully (another activation,
// biases in the encoder, scaled RoPE, a head dimension other than 64, absurd sizes), in one
// sentence each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/json.h"

namespace abba::checkpoint {

enum class LayerType { kFull, kSliding };

struct ModelConfig {
  // encoder/config.json
  std::int64_t hidden_size = 0;        // D, a multiple of kHeadSize
  std::int64_t layer_count = 0;        // NL, encoder layers
  std::int64_t attention_heads = 0;    // H = D / kHeadSize
  std::int64_t intermediate_size = 0;  // F, width of the GeGLU
  std::int64_t vocab_size = 0;         // V
  std::int64_t max_positions = 8192;
  std::int64_t half_window = 64;  // sliding layers see |i - j| <= half_window
  double norm_eps = 1e-5;
  double rope_theta_full = 160000;
  double rope_theta_sliding = 10000;
  std::vector<LayerType> layer_types;  // layer_count of them
  std::int64_t pad_token_id = 50283;
  // rl_agent_config.json
  std::int64_t head_layer_count = 2;  // decision layers, FFN width 4 D
  std::int64_t max_len = 512;
  std::int64_t head_max_len = 192;
  std::int64_t action_count = 2;  // 1 + number of act_costs
  std::string amp_dtype = "fp16";
  // Clamped to [0.5, 5]; anything that is no finite number counts as 1. [choice, score, noul]
  std::array<double, 3> temperature = {1, 1, 1};
  // "choice:3-5" -> temperature, clamped likewise, in file order.
  std::vector<std::pair<std::string, double>> temperature_by_options;

  static constexpr std::int64_t kHeadSize = 64;
  static constexpr std::int64_t kActHiddenSize = 256;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// Reads encoder/config.json and rl_agent_config.json below `checkpoint_dir`. Accepts the new
// (`rope_parameters`) and the flat RoPE keys, `layer_types` or `global_attn_every_n_layers`. Throws
// Error(kBadInput) naming the file and the key.
ModelConfig read_config(const std::string& checkpoint_dir);
// The same from parsed JSON; `encoder_where` and `agent_where` name the sources in messages.
ModelConfig parse_config(const base::Json& encoder, std::string_view encoder_where,
                         const base::Json& agent, std::string_view agent_where);

// The two files' contents for a config; parse_config gives the config back.
base::Json encoder_json(const ModelConfig& config);
base::Json agent_json(const ModelConfig& config);

// "english", "multilingual", "typed", "student", "tiny". Throws Error(kBadInput) naming the known
// ones.
ModelConfig family_config(std::string_view family);
const std::vector<std::string>& family_names();
// The family whose config has the same sizes and lengths, or "custom".
std::string family_of(const ModelConfig& config);

}  // namespace abba::checkpoint
