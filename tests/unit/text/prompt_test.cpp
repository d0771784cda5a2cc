#include "engine/text/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "tests/unit/text/tokenizers_for_tests.h"

namespace abba::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Tokenizer& tokenizer() {
  static const Tokenizer kTokenizer = builtin_tokenizer();
  return kTokenizer;
}

PyValue json(std::string_view text) {
  return parse_python_json(text, "test");
}

Question choice_of(std::size_t count, const std::string& text) {
  Question question;
  question.id = "q";
  question.instructions = "Which order is it?";
  for (std::size_t i = 0; i < count; ++i) {
    question.options.push_back("o" + std::to_string(i) + ": " + text);
    question.labels.push_back(PyValue::of_string("o" + std::to_string(i)));
  }
  return question;
}

PromptRow row_of(const Question& question, const PyValue& state, PromptBudget budget = {}) {
  return build_row(tokenizer(), encode_state(tokenizer(), state), question, budget);
}

std::vector<TokenId> joined(std::initializer_list<std::vector<TokenId>> parts) {
  std::vector<TokenId> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::size_t words_encoded(const std::string& text) {
  return tokenizer().encode(text).size();
}

// What every row must satisfy, whatever was cut.
void expect_well_formed(const PromptRow& row, std::size_t options, const PromptBudget& budget) {
  const SpecialTokens& special = tokenizer().special();
  ASSERT_LE(row.ids.size(), static_cast<std::size_t>(budget.max_len));
  EXPECT_EQ(row.ids.front(), special.cls);
  ASSERT_EQ(row.markers.size(), options);
  EXPECT_TRUE(std::is_sorted(row.markers.begin(), row.markers.end()));
  for (const auto marker : row.markers) {
    EXPECT_EQ(row.ids[static_cast<std::size_t>(marker)], special.mask);
  }
  EXPECT_EQ(std::count(row.ids.begin(), row.ids.end(), special.mask),
            static_cast<std::ptrdiff_t>(options));
}

TEST(Prompt, LayoutOfAShortRow) {
  const Question question = parse_question(
      "q",
      json(R"({"type":"choice","instructions":"Which team?","criteria":{"a":"bills","b":null}})"));
  const PromptRow row = row_of(question, PyValue::of_string("The order is late."));
  const auto enc = [](const char* text) { return tokenizer().encode(text); };
  EXPECT_EQ(row.ids, joined({{50281},
                             enc("choice question: Which team?"),
                             {50282},
                             {50284},
                             enc(" a: bills"),
                             {50284},
                             enc(" b"),
                             {50282},
                             enc("The order is late."),
                             {50282}}));
  const auto first = static_cast<std::int32_t>(2 + words_encoded("choice question: Which team?"));
  EXPECT_THAT(
      row.markers,
      ElementsAre(first, first + 1 + static_cast<std::int32_t>(words_encoded(" a: bills"))));
  EXPECT_FALSE(row.is_truncated());
  EXPECT_EQ(row.option_ids_limit, std::nullopt);
  EXPECT_EQ(row.distinct_options, 2U);
}

TEST(Prompt, StatesThatAreNoStringsAreJson) {
  const auto same = [](std::string_view state, const char* text) {
    return encode_state(tokenizer(), json(state)).ids == tokenizer().encode(text);
  };
  EXPECT_TRUE(same(R"("plain \"text\"")", "plain \"text\""));
  EXPECT_TRUE(same(R"({"a":[1,2.50],"ü":null})", R"({"a": [1, 2.5], "ü": null})"));
  EXPECT_TRUE(same("[]", "[]"));
  EXPECT_TRUE(same("null", "null"));
  EXPECT_TRUE(same("\"\"", ""));
}

TEST(Prompt, LiteralMaskTokensBecomeSpaces) {
  Question question = choice_of(2, "an [MASK] option[MASK]");
  question.instructions = "[MASK]Which [MASK]?";
  const PromptRow row = row_of(question, PyValue::of_string("x [MA[MASK]SK] [MASK][SEP]"));
  expect_well_formed(row, 2, {});
  EXPECT_EQ(encode_state(tokenizer(), PyValue::of_string("x[MASK]y[MASK]")).ids,
            tokenizer().encode("x y "));
  // Other special tokens are not neutralised.
  EXPECT_EQ(std::count(row.ids.begin(), row.ids.end(), 50282), 4);
}

TEST(Prompt, OptionsAreCutTo48IdsOfText) {
  const PromptRow row = row_of(choice_of(2, std::string(400, '!')), PyValue::of_string("s"),
                               {.max_len = 512, .head_max_len = 192});
  EXPECT_EQ(row.markers[1] - row.markers[0], 49);
  EXPECT_EQ(row.option_ids_limit, std::nullopt);
}

TEST(Prompt, OptionsOverTheBudgetShareIt) {
  const std::string text(400, '!');
  const PromptRow ten = row_of(choice_of(10, text), PyValue::of_string("s"));
  EXPECT_EQ(ten.option_ids_limit, 17);  // (192 - 16) / 10
  EXPECT_EQ(ten.markers[1] - ten.markers[0], 17);
  expect_well_formed(ten, 10, {});
  const PromptRow hundred = row_of(choice_of(100, text), PyValue::of_string("s"));
  EXPECT_EQ(hundred.option_ids_limit, 4);  // never fewer, [MASK] included
  EXPECT_EQ(hundred.markers[99] - hundred.markers[0], 99 * 4);
  EXPECT_EQ(hundred.markers[0],
            1 + 8 + 1 -
                (8 - std::min<int>(8, static_cast<int>(
                                          words_encoded("choice question: Which order is it?")))));
  expect_well_formed(hundred, 100, {});
  const PromptRow small =
      row_of(choice_of(3, text), PyValue::of_string("s"), {.max_len = 512, .head_max_len = 1});
  EXPECT_EQ(small.option_ids_limit, 4);
}

TEST(Prompt, TheHeadIsCutToWhatOptionsLeave) {
  Question question = choice_of(2, "x");
  question.instructions = std::string(2000, '?') + "!";
  const PromptRow row = row_of(question, PyValue::of_string("s"));
  const auto options =
      static_cast<std::int64_t>(2 + words_encoded(" o0: x") + words_encoded(" o1: x"));
  EXPECT_EQ(row.markers[0], 1 + (192 - options) + 1);
}

TEST(Prompt, CutOptionsThatBecomeEqualAreCounted) {
  Question question = choice_of(60, "x");
  for (std::size_t i = 0; i < question.options.size(); ++i) {
    question.options[i] = "the same start of all: " + std::to_string(i);
  }
  const PromptRow row = row_of(question, PyValue::of_string("s"));
  EXPECT_EQ(row.option_ids_limit, 4);
  EXPECT_EQ(row.distinct_options, 1U);
}

TEST(Prompt, LongTextKeepsItsStartLongListsTheirEnd) {
  std::string numbers;
  for (int i = 0; i < 600; ++i) numbers += std::to_string(i % 10) + "!";
  const PromptRow text = row_of(choice_of(2, "x"), PyValue::of_string(numbers));
  EXPECT_EQ(text.ids.size(), 512U);
  EXPECT_TRUE(text.is_truncated());
  const auto ids = tokenizer().encode(numbers);
  EXPECT_EQ(text.state_ids, ids.size());
  const std::vector<TokenId> kept(
      text.ids.end() - 1 - static_cast<std::ptrdiff_t>(text.state_ids_kept), text.ids.end() - 1);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), ids.begin()));

  PyValue list = PyValue::list();
  list.items.push_back(PyValue::of_string(numbers));
  const PromptRow turns = row_of(choice_of(2, "x"), list);
  const auto list_ids = tokenizer().encode(python_dumps(list));
  const std::vector<TokenId> newest(
      turns.ids.end() - 1 - static_cast<std::ptrdiff_t>(turns.state_ids_kept), turns.ids.end() - 1);
  EXPECT_TRUE(std::equal(newest.rbegin(), newest.rend(), list_ids.rbegin()));
  EXPECT_EQ(turns.ids.size(), 512U);
  EXPECT_EQ(turns.ids.back(), 50282);
}

TEST(Prompt, WithoutRoomNothingOfTheStateIsKept) {
  const Question question = choice_of(2, "x");
  const auto head = static_cast<std::int64_t>(row_of(question, PyValue::of_string("")).ids.size());
  PyValue list = PyValue::list();
  list.items.push_back(PyValue::of_string("newest"));
  for (const std::int64_t max_len : {head, head - 1}) {
    const PromptRow row = row_of(question, list, {.max_len = max_len, .head_max_len = 192});
    EXPECT_EQ(row.state_ids_kept, 0U);
    EXPECT_EQ(row.ids.size(), static_cast<std::size_t>(max_len));  // the last one lost its [SEP]
  }
}

TEST(Prompt, ALostMarkerIsAnErrorThatNamesTheQuestion) {
  const Question question = choice_of(2, "x");
  const std::int64_t last = row_of(question, PyValue::of_string("s")).markers.back();
  EXPECT_NO_THROW((void)row_of(question, PyValue::of_string("s"), {last + 1, 192}));
  try {
    (void)row_of(question, PyValue::of_string("s"), {last, 192});
    FAIL() << "not refused";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("question \"q\": options exceed head_max_len=192"));
  }
}

TEST(Prompt, BudgetsOutsideTheRangeAreRefused) {
  for (const PromptBudget budget :
       {PromptBudget{0, 192}, PromptBudget{8193, 192}, PromptBudget{512, 0},
        PromptBudget{512, 8193}, PromptBudget{-5, 1}}) {
    EXPECT_THROW((void)row_of(choice_of(2, "x"), PyValue::of_string("s"), budget), base::Error);
  }
  checkpoint::ModelConfig config;
  config.max_len = 1024;
  config.head_max_len = 256;
  EXPECT_EQ(PromptBudget::of(config).max_len, 1024);
  EXPECT_EQ(PromptBudget::of(config).head_max_len, 256);
}

TEST(Prompt, RandomRequestsGiveWellFormedRows) {
  base::Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + random.below(60);
    Question question = choice_of(count, std::string(random.below(120), 'z'));
    question.instructions = std::string(random.below(300), '.');
    const PromptBudget budget{400 + static_cast<std::int64_t>(random.below(600)),
                              32 + static_cast<std::int64_t>(random.below(300))};
    expect_well_formed(
        row_of(question, PyValue::of_string(std::string(random.below(3000), ' ')), budget), count,
        budget);
  }
}

TEST(Prompt, MetaspaceTokenizersUseTheirOwnMask) {
  const Tokenizer small = metaspace_tokenizer();
  const Question question = choice_of(2, "a<mask>b");
  const PromptRow row =
      build_row(small, encode_state(small, PyValue::of_string("ab <mask>")), question, {});
  EXPECT_EQ(row.ids.front(), 2);
  EXPECT_EQ(row.ids.back(), 1);
  EXPECT_EQ(std::count(row.ids.begin(), row.ids.end(), 4), 2);
}

}  // namespace
}  // namespace abba::text
