// A tokenizer file that cannot be computed faithfully, or is hostile, is refused in one sentence.
#include "engine/text/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "tests/unit/text/tokenizers_for_tests.h"

namespace abba::text {
namespace {

using base::Json;
using testing::HasSubstr;

std::string refusal(const std::string& json, const std::string& config = metaspace_config()) {
  try {
    (void)Tokenizer::parse(json, config);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "was taken";
}

std::string refusal_after(const std::function<void(Json&)>& change) {
  Json json = metaspace_json();
  change(json);
  return refusal(json.dump());
}

TEST(TokenizerFile, TheTestTokenizersAreTaken) {
  EXPECT_EQ(refusal(metaspace_json().dump()), "was taken");
  EXPECT_NO_THROW((void)builtin_tokenizer());
}

TEST(TokenizerFile, UnsupportedPipelinesAreNamed) {
  const auto set_model = [](const char* key, Json value) {
    return refusal_after([&](Json& j) { j.find("model")->set(key, value); });
  };
  EXPECT_THAT(set_model("type", "Unigram"), HasSubstr("the model must be BPE"));
  EXPECT_THAT(set_model("dropout", 0.1), HasSubstr("\"dropout\" is set"));
  EXPECT_THAT(set_model("continuing_subword_prefix", "##"), HasSubstr("continuing_subword_prefix"));
  EXPECT_THAT(set_model("ignore_merges", true), HasSubstr("\"ignore_merges\" must be false"));
  EXPECT_THAT(set_model("unk_token", "<nothing>"), HasSubstr("which the vocabulary lacks"));
  EXPECT_THAT(set_model("vocab", 3), HasSubstr("\"vocab\" must be an object"));
  const auto set_pre = [](const char* key, Json value) {
    return refusal_after([&](Json& j) { j.find("pre_tokenizer")->set(key, value); });
  };
  EXPECT_THAT(set_pre("type", "Whitespace"), HasSubstr("pre-tokenizer \"Whitespace\""));
  EXPECT_THAT(set_pre("prepend_scheme", "first"), HasSubstr("prepend_scheme"));
  EXPECT_THAT(set_pre("replacement", "_"), HasSubstr("U+2581"));
  EXPECT_THAT(set_pre("split", false), HasSubstr("\"split\" must be true"));
  EXPECT_THAT(refusal_after([](Json& j) { j.find("normalizer")->set("type", "NFKC"); }),
              HasSubstr("normalizer \"NFKC\""));
  EXPECT_THAT(refusal_after([](Json& j) { j.find("normalizer")->set("content", "_"); }),
              HasSubstr("U+2581"));
  EXPECT_THAT(refusal_after([](Json& j) {
                j.find("pre_tokenizer")->set("type", "ByteLevel");
                j.find("pre_tokenizer")->set("add_prefix_space", false);
              }),
              HasSubstr("ByteLevel"));
}

TEST(TokenizerFile, VocabularyAndMergesMustAgree) {
  const auto set_vocab = [](const char* content, Json id) {
    return refusal_after([&](Json& j) { j.find("model")->find("vocab")->set(content, id); });
  };
  EXPECT_THAT(set_vocab("zz", -1), HasSubstr("the id of \"zz\""));
  EXPECT_THAT(set_vocab("zz", 1 << 30), HasSubstr("the id of \"zz\""));
  EXPECT_THAT(set_vocab("zz", 1.5), HasSubstr("the id of \"zz\""));
  EXPECT_THAT(set_vocab("zz", 261), HasSubstr("the id 261 twice"));
  const auto add_merge = [](Json merge) {
    return refusal_after([&](Json& j) { j.find("model")->find("merges")->push_back(merge); });
  };
  EXPECT_THAT(add_merge("a q"), HasSubstr("merge 4 names \"q\""));
  EXPECT_THAT(add_merge("b a"), HasSubstr("merge 4 names \"ba\""));
  EXPECT_THAT(add_merge("a b c"), HasSubstr("merge 4 must be two strings"));
  EXPECT_THAT(add_merge(7), HasSubstr("merge 4 must be two strings"));
  Json pair = Json::array();
  pair.push_back("a");
  EXPECT_THAT(add_merge(pair), HasSubstr("merge 4 must be two strings"));
  pair.push_back("b");
  EXPECT_EQ(add_merge(pair), "was taken");
}

TEST(TokenizerFile, AddedTokensMustAgreeWithTheVocabulary) {
  const auto add = [](Json token) {
    return refusal_after([&](Json& j) { j.find("added_tokens")->push_back(token); });
  };
  EXPECT_EQ(add(added_json(300, "new", false)), "was taken");
  EXPECT_THAT(add(added_json(261, "new", false)), HasSubstr("which the vocabulary contradicts"));
  EXPECT_THAT(add(added_json(300, "ab", false)), HasSubstr("which the vocabulary contradicts"));
  EXPECT_THAT(add(added_json(4, "<mask>", false)), HasSubstr("there twice"));
  EXPECT_THAT(add(added_json(300, "", false)), HasSubstr("is empty"));
  Json token = added_json(300, "new", false);
  token.set("single_word", true);
  EXPECT_THAT(add(token), HasSubstr("\"single_word\" must be false"));
  token.set("single_word", false);
  token.set("rstrip", true);
  EXPECT_THAT(add(token), HasSubstr("\"rstrip\" must be false"));
  EXPECT_THAT(add(Json("x")), HasSubstr("content"));
}

TEST(TokenizerFile, SpecialTokensMustExist) {
  const std::string good = metaspace_json().dump();
  EXPECT_THAT(refusal(good, "{}"), HasSubstr("mask_token"));
  EXPECT_THAT(refusal(good, R"({"mask_token":"<m>"})"), HasSubstr("names \"<m>\""));
  EXPECT_THAT(refusal(good, R"({"mask_token":""})"), HasSubstr("\"mask_token\" is empty"));
  EXPECT_THAT(refusal(good, R"({"mask_token":"<mask>","cls_token":5})"), HasSubstr("cls_token"));
  EXPECT_THAT(refusal(good, "[]"), HasSubstr("tokenizer_config.json"));
}

TEST(TokenizerFile, AByteLevelVocabularyNeedsEveryByte) {
  const std::string name = "\"\u0120\":";  // the symbol of a space
  std::string json(checkpoint::builtin_tokenizer_json());
  std::size_t at = json.find(name);
  if (at == std::string::npos) at = json.find("\"\\u0120\":");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, json.find(':', at) - at, "\"not a symbol\"");
  EXPECT_NE(refusal(json, std::string(checkpoint::builtin_tokenizer_config_json())), "was taken");
}

TEST(TokenizerFile, DamagedFilesAreRefusedAndNeverMoreThanThat) {
  const std::string good = metaspace_json().dump();
  base::Random random(11);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bad = good;
    if (round % 3 == 0) {
      bad.resize(random.below(good.size()));
    } else {
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    }
    try {
      (void)Tokenizer::parse(bad, metaspace_config());
    } catch (const base::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(TokenizerFile, AMissingFolderIsNamed) {
  try {
    (void)Tokenizer::read("/nonexistent/tokenizer");
    FAIL() << "not refused";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/tokenizer/tokenizer.json"));
  }
}

}  // namespace
}  // namespace abba::text
