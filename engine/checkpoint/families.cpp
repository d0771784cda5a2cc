#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/checkpoint/config.h"

namespace abba::checkpoint {
namespace {

struct Family {
  std::string name;
  ModelConfig config;
};

std::vector<LayerType> every_third_full(std::int64_t layer_count) {
  std::vector<LayerType> types;
  for (std::int64_t i = 0; i < layer_count; ++i) {
    types.push_back(i % 3 == 0 ? LayerType::kFull : LayerType::kSliding);
  }
  return types;
}

ModelConfig sized(std::int64_t hidden_size, std::int64_t layer_count,
                  std::int64_t intermediate_size, std::int64_t vocab_size, std::int64_t max_len,
                  std::int64_t head_max_len) {
  ModelConfig config;
  config.hidden_size = hidden_size;
  config.layer_count = layer_count;
  config.attention_heads = hidden_size / ModelConfig::kHeadSize;
  config.intermediate_size = intermediate_size;
  config.vocab_size = vocab_size;
  config.layer_types = every_third_full(layer_count);
  config.max_len = max_len;
  config.head_max_len = head_max_len;
  config.amp_dtype = "bf16";
  return config;
}

std::vector<Family> make_families() {
  ModelConfig multilingual = sized(768, 22, 1152, 256000, 1024, 256);
  multilingual.rope_theta_sliding = 160000;
  multilingual.pad_token_id = 0;
  return {{"english", sized(1024, 28, 2624, 50368, 512, 192)},
          {"multilingual", multilingual},
          {"typed", sized(1024, 28, 2624, 50368, 1024, 256)},
          {"student", sized(768, 22, 1152, 50368, 704, 192)},
          {"tiny", sized(128, 4, 320, 50368, 512, 192)}};
}

const std::vector<Family>& families() {
  static const std::vector<Family> table = make_families();
  return table;
}

}  // namespace

const std::vector<std::string>& family_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Family& family : families()) list.push_back(family.name);
    return list;
  }();
  return names;
}

ModelConfig family_config(std::string_view name) {
  for (const Family& family : families()) {
    if (family.name == name) return family.config;
  }
  throw base::Error(base::ErrorCode::kBadInput, std::string(name),
                    "is no model family; the families are " + base::join(family_names(), ", "));
}

std::string family_of(const ModelConfig& config) {
  for (const Family& family : families()) {
    ModelConfig known = family.config;
    // What calibration and packaging change does not make another family.
    known.temperature = config.temperature;
    known.temperature_by_options = config.temperature_by_options;
    known.amp_dtype = config.amp_dtype;
    known.pad_token_id = config.pad_token_id;
    known.max_positions = config.max_positions;
    if (known == config) return family.name;
  }
  return "custom";
}

}  // namespace abba::checkpoint
