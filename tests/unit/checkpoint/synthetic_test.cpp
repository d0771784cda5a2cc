// Synthetic checkpoints: the generator, the recipe's set-apart elements, the golden digest, verify
// and inspect on what was made and on what was broken afterwards.
#include "engine/checkpoint/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "engine/checkpoint/builtin_tokenizer.h"
#include "engine/checkpoint/recipe.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "engine/checkpoint/verify.h"
#include "tests/unit/temporary_folder.h"

namespace abba::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `tiny` with a vocabulary small enough for tests that do not need the golden bytes.
ModelConfig small_config() {
  ModelConfig config = family_config("tiny");
  config.vocab_size = 300;
  config.pad_token_id = 0;
  return config;
}

TEST(Draw, BulkEqualsTheDefinition) {
  const base::PhiloxKey key = tensor_key(1, "x");
  const Distribution from = distribution(0.25, 0.02);
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12345},
                                    std::uint64_t{0xffffffe0U}, std::uint64_t{0x1fffffffdU}}) {
    std::vector<base::F16> values(3001);
    draw(key, first, values.size(), from, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], draw(key, first + i, from)) << first + i;
    }
  }
}

TEST(Draw, HasTheMeanAndDeviationAskedFor) {
  std::vector<base::F16> values(400000);
  draw(tensor_key(7, "w"), 0, values.size(), distribution(1, 0.05), values.data());
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (const base::F16 value : values) {
    const double x = base::to_float(value) - 1;
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 0.1 ? 1 : 0;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.0004);
  EXPECT_NEAR(std::sqrt(squares / count), 0.05, 0.0003);
  EXPECT_NEAR(beyond_two / count, 0.0455, 0.003);  // nearly normal
}

TEST(Draw, KeysDependOnSeedAndName) {
  EXPECT_EQ(tensor_key(1, "a"), tensor_key(1, "a"));
  EXPECT_NE(tensor_key(1, "a"), tensor_key(2, "a"));
  EXPECT_NE(tensor_key(1, "a"), tensor_key(1, "b"));
  EXPECT_NE(tensor_key(1, "1\na"), tensor_key(11, "a"));
}

TEST(Recipe, FillingInPiecesGivesTheWhole) {
  const ModelConfig config = small_config();
  for (const TensorSpec& spec : tensor_inventory(config)) {
    const std::int64_t count = spec.shape.element_count();
    const TensorRecipe recipe = recipe_of(spec, config);
    const base::PhiloxKey key = tensor_key(1, spec.name);
    std::vector<base::F16> whole(static_cast<std::size_t>(count));
    std::vector<base::F16> pieces(static_cast<std::size_t>(count), base::F16{0xffff});
    fill(recipe, key, spec.shape, 0, count, whole.data());
    for (std::int64_t first = 0; first < count; first += 777) {
      fill(recipe, key, spec.shape, first, std::min<std::int64_t>(777, count - first),
           &pieces[first]);
    }
    ASSERT_TRUE(whole == pieces) << spec.name;
    for (const base::F16 value : whole)
      ASSERT_TRUE(std::isfinite(base::to_float(value))) << spec.name;
  }
}

TEST(Recipe, OutliersCancelExactlyAndGainsAreReduced) {
  const ModelConfig config = family_config("english");
  const TensorSpec spec{"encoder.layers.2.mlp.Wo.weight", tensor::Shape{1024, 2624}};
  const TensorRecipe recipe = recipe_of(spec, config);
  ASSERT_EQ(recipe.elements.size(), 3U);
  float sum = 0;
  for (const ElementRule& rule : recipe.elements) {
    EXPECT_EQ(base::to_float(base::to_f16(rule.value)), rule.value);
    EXPECT_GT(std::abs(rule.value), 7000);
    sum += rule.value;
  }
  EXPECT_EQ(sum, 0);
  const TensorRecipe before =
      recipe_of({"encoder.layers.2.mlp_norm.weight", tensor::Shape{1024}}, config);
  const TensorRecipe after =
      recipe_of({"encoder.layers.3.attn_norm.weight", tensor::Shape{1024}}, config);
  EXPECT_EQ(before.from.mean, 1);
  EXPECT_GT(after.from.mean, 500);
  EXPECT_EQ(after.columns.size(), 3U);
}

TEST(Synthetic, GoldenDigestOfTiny) {
  const TemporaryFolder folder;
  make_synthetic(family_config("tiny"), {.seed = 1, .out_dir = folder.file("tiny")});
  EXPECT_EQ(base::sha256_file(folder.file("tiny/model.safetensors")),
            "7a2cafa7abfd665dc08d42ccec6d46860cb91e0bb933384b460772f20d0b11f6");
  EXPECT_THAT(verify_checkpoint(folder.file("tiny")), IsEmpty());
  const Inspection inspection = inspect_checkpoint(folder.file("tiny"));
  EXPECT_EQ(inspection.family, "tiny");
  EXPECT_TRUE(inspection.has_tokenizer);
  EXPECT_EQ(inspection.tensors.size(), tensor_inventory(inspection.config).size());
  EXPECT_EQ(inspection.by_dtype.size(), 2U);
  EXPECT_EQ(inspection.by_dtype[0].parameter_count, 3U);
  EXPECT_THAT(inspection_text(inspection), HasSubstr("encoder.layers.3.mlp.Wi.weight"));
  EXPECT_EQ(base::read_file(folder.file("tiny/tokenizer/tokenizer.json")),
            builtin_tokenizer_json());
}

TEST(Synthetic, BytesDependOnTheSeedAndNotOnThreads) {
  const TemporaryFolder folder;
  for (const auto& [name, seed, threads] :
       {std::tuple("a", 1, 1), std::tuple("b", 1, 3), std::tuple("c", 2, 2)}) {
    make_synthetic(small_config(), {.seed = static_cast<std::uint64_t>(seed),
                                    .out_dir = folder.file(name),
                                    .tokenizer = "none",
                                    .thread_count = threads});
  }
  EXPECT_EQ(folder.entry_count(), 3);
  const std::string a = base::sha256_file(folder.file("a/model.safetensors"));
  EXPECT_EQ(a, base::sha256_file(folder.file("b/model.safetensors")));
  EXPECT_NE(a, base::sha256_file(folder.file("c/model.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a/tokenizer")));
}

TEST(Synthetic, RefusesWhatItWouldOverwriteAndLeavesNothing) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("full"));
  base::write_file_atomically(folder.file("full/mine"), "x");
  base::write_file_atomically(folder.file("file"), "x");
  std::filesystem::create_directories(folder.file("empty"));
  const auto make = [&](const std::string& out, const std::string& tokenizer) {
    make_synthetic(small_config(), {.out_dir = folder.file(out), .tokenizer = tokenizer});
  };
  EXPECT_THROW(make("full", "none"), base::Error);
  EXPECT_THROW(make("file", "none"), base::Error);
  EXPECT_THROW(make("new", folder.file("no_tokenizer_here")), base::Error);
  EXPECT_THROW(make("file/below", "none"), base::Error);
  EXPECT_EQ(folder.entry_count(), 3);
  EXPECT_EQ(base::read_file(folder.file("full/mine")), "x");
  make("empty", "builtin");
  make("again/", folder.file("empty/tokenizer"));
  EXPECT_EQ(base::read_file(folder.file("again/tokenizer/tokenizer.json")),
            builtin_tokenizer_json());
}

TEST(Synthetic, BuiltinTokenizerHasTheEnglishIds) {
  const base::Json json = base::parse_json(builtin_tokenizer_json(), "");
  const base::Json& vocab = json.at("model").at("vocab");
  EXPECT_EQ(vocab.get_int("[CLS]", ""), 50281);
  EXPECT_EQ(vocab.get_int("[MASK]", ""), 50284);
  EXPECT_EQ(vocab.get_int(std::string(4, ' '), ""), 50274);
  EXPECT_EQ(vocab.get_int(std::string(24, ' '), ""), 50254);
  std::vector<std::int64_t> ids;
  for (const auto& [token, id] : vocab.as_object()) ids.push_back(id.as_int());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(ids.back(), 50367);
  for (const base::Json& merge : json.at("model").get_array("merges", "")) {
    EXPECT_NE(vocab.find(merge.as_array()[0].as_string() + merge.as_array()[1].as_string()),
              nullptr);
  }
  EXPECT_EQ(base::parse_json(builtin_tokenizer_config_json(), "").get_string("mask_token", ""),
            "[MASK]");
}

// Writes a checkpoint folder whose model holds `tensors`, all bytes zero.
void write_checkpoint(const std::string& directory, const ModelConfig& config,
                      const std::vector<TensorInfo>& tensors) {
  std::filesystem::create_directories(directory + "/encoder");
  base::write_file_atomically(directory + "/encoder/config.json", encoder_json(config).dump());
  base::write_file_atomically(directory + "/rl_agent_config.json", agent_json(config).dump());
  SafetensorsWriter writer(model_path(directory), tensors, {});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string zeros(writer.tensors()[i].size_bytes, '\0');
    writer.write(i, 0, zeros.data(), zeros.size());
  }
  writer.finish();
}

std::vector<TensorInfo> f16_inventory(const ModelConfig& config) {
  std::vector<TensorInfo> tensors;
  for (const TensorSpec& spec : tensor_inventory(config)) {
    tensors.push_back({.name = spec.name, .dtype = tensor::DType::kF16, .shape = spec.shape});
  }
  return tensors;
}

TEST(Verify, ListsEveryMistakeOfTheInventory) {
  const TemporaryFolder folder;
  const ModelConfig config = small_config();
  std::vector<TensorInfo> tensors = f16_inventory(config);
  const auto named = [&](const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const auto& each) { return each.name == name; });
  };
  named("type_emb.weight")->shape = tensor::Shape{2, 128};
  named("scorer.1.weight")->name = "scorer.1.wieght";
  tensors.erase(named("encoder.layers.1.mlp.Wi.weight"));
  tensors.push_back(
      {.name = "lm_head.weight", .dtype = tensor::DType::kF16, .shape = tensor::Shape{9}});
  tensors.push_back(
      {.name = "scorer.1.mask", .dtype = tensor::DType::kU8, .shape = tensor::Shape{4}});
  write_checkpoint(folder.file("bad"), config, tensors);
  EXPECT_THAT(
      verify_checkpoint(folder.file("bad")),
      ElementsAre(HasSubstr("\"type_emb.weight\" has shape [2, 128], the config asks for [3, 128]"),
                  HasSubstr("\"scorer.1.weight\" of the same shape is missing: renamed?"),
                  HasSubstr("\"lm_head.weight\" does not belong"),
                  HasSubstr("\"scorer.1.mask\" does not belong"),
                  HasSubstr("\"encoder.layers.1.mlp.Wi.weight\" is missing")));
  try {
    const Checkpoint opened(folder.file("bad"));
    FAIL() << "opened";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bad/model.safetensors"));
    EXPECT_THAT(error.what(), HasSubstr("4 more"));
  }
}

TEST(Verify, RefusesIntegerWeightsAcceptsAnyFloat) {
  const TemporaryFolder folder;
  const ModelConfig config = small_config();
  std::vector<TensorInfo> tensors = f16_inventory(config);
  tensors.back().dtype = tensor::DType::kBf16;
  write_checkpoint(folder.file("good"), config, tensors);
  EXPECT_THAT(verify_checkpoint(folder.file("good")),
              IsEmpty());  // canary: not everything is refused
  EXPECT_EQ(Checkpoint(folder.file("good")).config, config);
  tensors.back().dtype = tensor::DType::kU8;
  write_checkpoint(folder.file("bad"), config, tensors);
  EXPECT_THAT(verify_checkpoint(folder.file("bad")),
              ElementsAre(HasSubstr("\"temperature\" has dtype U8")));
}

TEST(Verify, MissingFilesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(verify_checkpoint(folder.file("none")),
              ElementsAre(HasSubstr("encoder/config.json"), HasSubstr("model.safetensors")));
  EXPECT_THROW(inspect_checkpoint(folder.file("none")), base::Error);
}

}  // namespace
}  // namespace abba::checkpoint
