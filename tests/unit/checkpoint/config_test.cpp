#include "engine/checkpoint/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/checkpoint/inventory.h"

namespace abba::checkpoint {
namespace {

using base::Json;
using ::testing::HasSubstr;

// A config in the older, flat spelling with everything optional left out.
Json flat_encoder() {
  return base::parse_json(R"({"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 2,
    "intermediate_size": 320, "vocab_size": 1000,
    "global_rope_theta": 160000.0, "local_rope_theta": 7000})",
                          "");
}

ModelConfig parse(const Json& encoder, const Json& agent = Json::object()) {
  return parse_config(encoder, "e.json", agent, "a.json");
}

std::string refusal(const Json& encoder, const Json& agent = Json::object()) {
  try {
    (void)parse(encoder, agent);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

std::int64_t parameters(const ModelConfig& config) {
  std::int64_t sum = 0;
  for (const TensorSpec& spec : tensor_inventory(config)) {
    if (spec.name != "temperature") sum += spec.shape.element_count();
  }
  return sum;
}

TEST(Config, FamiliesHaveThePublishedSizes) {
  EXPECT_EQ(tensor_inventory(family_config("english")).size(), 206U);
  EXPECT_EQ(tensor_inventory(family_config("multilingual")).size(), 170U);
  EXPECT_EQ(parameters(family_config("english")), 421293827);
  EXPECT_EQ(parameters(family_config("typed")), 421293827);
  EXPECT_EQ(parameters(family_config("multilingual")), 321908995);
  const ModelConfig english = family_config("english");
  EXPECT_EQ(std::count(english.layer_types.begin(), english.layer_types.end(), LayerType::kFull),
            10);
  EXPECT_EQ(family_config("multilingual").rope_theta_sliding, 160000);
  EXPECT_EQ(english.rope_theta_sliding, 10000);
}

TEST(Config, EveryFamilySurvivesItsOwnFiles) {
  EXPECT_EQ(family_names().size(), 5U);
  for (const std::string& name : family_names()) {
    ModelConfig config = family_config(name);
    config.temperature = {0.75, 1.25, 2};
    config.temperature_by_options = {{"choice:2", 1.5}, {"noul:2", 3}};
    const Json encoder = base::parse_json(encoder_json(config).dump_pretty(), "");
    const Json agent = base::parse_json(agent_json(config).dump_pretty(), "");
    EXPECT_TRUE(parse(encoder, agent) == config) << name;
    EXPECT_EQ(family_of(config), name);
  }
  ModelConfig other = family_config("tiny");
  other.half_window = 63;  // canary: another network is not the family
  EXPECT_EQ(family_of(other), "custom");
}

TEST(Config, UnknownFamilyNamesTheKnownOnes) {
  try {
    (void)family_config("giant");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("english, multilingual, typed, student, tiny"));
  }
}

TEST(Config, FlatKeysAndDefaults) {
  const ModelConfig config = parse(flat_encoder());
  EXPECT_EQ(config.rope_theta_sliding, 7000);
  EXPECT_EQ(config.rope_theta_full, 160000);
  EXPECT_EQ(config.half_window, 64);
  EXPECT_EQ(config.layer_types, (std::vector<LayerType>{LayerType::kFull, LayerType::kSliding,
                                                        LayerType::kSliding, LayerType::kFull}));
  EXPECT_EQ(config.max_len, 512);
  EXPECT_EQ(config.head_max_len, 192);
  EXPECT_EQ(config.head_layer_count, 2);
  EXPECT_EQ(config.amp_dtype, "fp16");
  EXPECT_EQ(config.temperature, (std::array<double, 3>{1, 1, 1}));
  EXPECT_TRUE(config.temperature_by_options.empty());
}

TEST(Config, NewKeysWinOverFlatOnes) {
  Json encoder = flat_encoder();
  encoder.set("rope_parameters",
              base::parse_json(
                  R"({"sliding_attention": {"rope_theta": 5000, "rope_type": "default"}})", ""));
  encoder.set("global_attn_every_n_layers", 2);
  EXPECT_EQ(parse(encoder).rope_theta_sliding, 5000);
  EXPECT_EQ(parse(encoder).layer_types[2], LayerType::kFull);
  encoder.set("layer_types", base::parse_json(R"(["sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention"])",
                                              ""));
  EXPECT_EQ(parse(encoder).layer_types[0], LayerType::kSliding);
  EXPECT_EQ(parse(encoder).layer_types[2], LayerType::kFull);
}

TEST(Config, TemperaturesAreClamped) {
  const Json agent =
      base::parse_json(R"({"temperature": [0.1, 9, "warm"], "act_costs": {"a": 1, "b": 2},
    "temperature_by_options": {"choice:11+": 0.1006, "noul:2": null, "score:3-5": 1.25}})",
                       "");
  const ModelConfig config = parse(flat_encoder(), agent);
  EXPECT_EQ(config.temperature, (std::array<double, 3>{0.5, 5, 1}));
  EXPECT_EQ(config.temperature_by_options[0], (std::pair<std::string, double>("choice:11+", 0.5)));
  EXPECT_EQ(config.temperature_by_options[1].second, 1);
  EXPECT_EQ(config.action_count, 3);
}

TEST(Config, RefusesWhatItCannotComputeNamingTheKey) {
  const std::pair<const char*, Json> wrong[] = {{"model_type", "bert"},
                                                {"hidden_activation", "silu"},
                                                {"norm_bias", true},
                                                {"attention_bias", true},
                                                {"mlp_bias", true},
                                                {"hidden_size", 130},
                                                {"hidden_size", 1.5},
                                                {"hidden_size", "128"},
                                                {"num_hidden_layers", 0},
                                                {"num_hidden_layers", 1000000},
                                                {"num_attention_heads", 3},
                                                {"intermediate_size", -1},
                                                {"vocab_size", std::int64_t{1} << 40U},
                                                {"local_attention", 0},
                                                {"norm_eps", 0},
                                                {"global_attn_every_n_layers", 0},
                                                {"layer_types", Json::array()},
                                                {"pad_token_id", 1000},
                                                {"global_rope_theta", -1}};
  for (const auto& [key, value] : wrong) {
    Json encoder = flat_encoder();
    encoder.set(key, value);
    EXPECT_THAT(refusal(encoder), HasSubstr("e.json")) << key;
    EXPECT_THAT(refusal(encoder), HasSubstr(key)) << key;
  }
  for (const auto* key : {"hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size"}) {
    Json encoder = flat_encoder();
    encoder.erase(key);
    EXPECT_THAT(refusal(encoder), HasSubstr(key));
  }
  EXPECT_EQ(refusal(flat_encoder()), "");  // canary
}

TEST(Config, RefusesScaledRopeAndBadAgents) {
  Json encoder = flat_encoder();
  encoder.set(
      "rope_parameters",
      base::parse_json(R"({"full_attention": {"rope_theta": 5000, "rope_type": "yarn"}})", ""));
  EXPECT_THAT(refusal(encoder), HasSubstr("yarn"));
  for (const char* agent :
       {R"({"max_len": 0})", R"({"max_len": 99999})", R"({"head_layers": 0})",
        R"({"temperature": [1, 1]})", R"({"temperature": 1})", R"({"act_costs": 3})",
        R"({"amp_dtype": 16})", R"({"head_max_len": 4096})", R"({"option_layout": "parallel"})",
        "[]"}) {
    EXPECT_THAT(refusal(flat_encoder(), base::parse_json(agent, "")), HasSubstr("a.json")) << agent;
  }
}

}  // namespace
}  // namespace abba::checkpoint
