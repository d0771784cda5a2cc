// Statuses and sentences of the original's /v1/systemone, from bytes.
#include "engine/runtime/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/error.h"
#include "engine/runtime/published_models.h"

namespace abba::runtime {
namespace {

using testing::HasSubstr;

std::string repeated(const std::string& part, int count, const std::string& separator = "") {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? separator : "") + part;
  return text;
}

// {status, sentence} of what a body is refused with; {200, ""} if it is accepted.
std::pair<int, std::string> judged(const std::string& body, const WireLimits& limits = {}) {
  try {
    read_body(body, limits, "english");
    return {200, ""};
  } catch (const Refusal& refusal) {
    return {refusal.status(), refusal.what()};
  }
}

std::string body_of(const std::string& questions, const std::string& more = "") {
  return R"({"state": "s", "questions": )" + questions + more + "}";
}

TEST(Wire, AcceptsWhatTheOriginalAccepts) {
  const Request request = read_body(
      R"({"state": ["a", 1.5], "questions": {"q": {"type": "noul", "instructions": "?"}},
          "max_len": 64, "head_max_len": null, "lang": "de-AT", "model": "jev-1", "more": 1})",
      {}, "english");
  EXPECT_TRUE(request.state.is_list());
  EXPECT_EQ(request.questions.members.size(), 1U);
  EXPECT_EQ(request.max_len, 64);
  EXPECT_EQ(request.head_max_len, std::nullopt);
  EXPECT_EQ(request.language, "de-AT");
  EXPECT_EQ(judged(body_of("{}")).first, 200);
  EXPECT_EQ(judged(body_of("{}", R"(, "lang": null, "lang_guess": "de", "hooks": null)")).first,
            200);
}

TEST(Wire, MalformedBodiesAre400) {
  for (const char* body :
       {"", "{", "nul", "[]", "5", R"({"state": "s"})", R"({"questions": {}})",
        R"({"state": null, "questions": {}})", R"({"state": "s", "questions": []})",
        R"({"state": "s", "questions": null})", "{\"state\": \"\xff\", \"questions\": {}}"}) {
    const auto [status, sentence] = judged(body);
    EXPECT_EQ(status, 400) << body;
    EXPECT_FALSE(sentence.empty());
  }
  EXPECT_EQ(judged(R"({"questions": {}})").second, "'state' is required");
  EXPECT_EQ(judged(body_of("[]")).second, "'questions' must be an object");
}

TEST(Wire, DepthIsBounded) {
  EXPECT_EQ(
      judged(R"({"state": )" + repeated("[", 62) + repeated("]", 62) + R"(, "questions": {}})")
          .first,
      200);
  for (const int depth : {65, 1000, 500'000}) {
    EXPECT_EQ(judged(R"({"state": )" + repeated("[", depth) + repeated("]", depth) +
                     R"(, "questions": {}})")
                  .first,
              400);
  }
}

TEST(Wire, LimitsAre413) {
  const std::string noul = R"({"type": "noul", "instructions": "?"})";
  std::string many = "{";
  for (int i = 0; i < 65; ++i) many += (i ? ", \"q" : "\"q") + std::to_string(i) + "\": " + noul;
  EXPECT_EQ(judged(body_of(many + "}")),
            std::pair(413, std::string("too many questions (65 > 64)")));
  const auto choice = [](int count) {
    return R"({"type": "choice", "instructions": "?", "criteria": [)" +
           repeated("\"o\"", count, ", ") + "]}";
  };
  EXPECT_EQ(judged(body_of("{\"c\": " + choice(100) + "}")).first, 200);
  EXPECT_EQ(judged(body_of("{\"c\": " + choice(101) + "}")),
            std::pair(413, std::string("too many choice options for 'c' (101 > 100)")));
  const auto score = [](int count) {
    return R"({"type": "score", "instructions": "?", "criteria": [)" +
           repeated("\"o\"", count, ", ") + "]}";
  };
  EXPECT_EQ(judged(body_of("{\"s\": " + score(32) + "}")).first, 200);
  EXPECT_EQ(judged(body_of("{\"s\": " + score(33) + "}")).first, 413);
  std::string total = "{";
  for (int i = 0; i < 6; ++i) {
    total += (i ? ", \"c" : "\"c") + std::to_string(i) + "\": " + choice(90);
  }
  EXPECT_THAT(judged(body_of(total + "}")).second, HasSubstr("(540 > 512)"));
}

// The state is counted as len(str(state)) counts it: code points, quotes and escapes included.
TEST(Wire, StatesAreCountedInCharactersOfPython) {
  const auto with_state = [](const std::string& state) {
    return judged(R"({"questions": {}, "state": )" + state + "}").first;
  };
  EXPECT_EQ(with_state('"' + repeated("é", 50'000) + '"'), 200);
  EXPECT_EQ(with_state('"' + repeated("é", 50'001) + '"'), 413);
  EXPECT_EQ(with_state("[\"" + repeated("a", 49'996) + "\"]"), 200);  // ['aaa'] has four more
  EXPECT_EQ(with_state("[\"" + repeated("a", 49'997) + "\"]"), 413);
  const auto length = [](const char* json) {
    return text::python_str_length(text::parse_python_json(json, "test"));
  };
  // Each figure is len(str(json.loads(...))) of CPython 3.11.
  EXPECT_EQ(length(R"("a'b")"), 3U);
  EXPECT_EQ(length(R"([])"), 2U);
  EXPECT_EQ(length(R"({"a": [1, 2.0, null, true, false]})"), 34U);
  EXPECT_EQ(length(R"(["it's", "say \"it's\"", "\n\t\\", "\u0000\u007f\u0085"])"), 49U);
  EXPECT_EQ(length(R"(["\u200b\u3000", "\ud83d\ude00", "\udbc0\udc00", 1e22])"), 42U);
}

TEST(Wire, BudgetsOutsideOfTheirRangeAre422) {
  for (const char* value : {"0", "8193", "-1", "true", "1.5", "\"64\"", "99999999999999999999"}) {
    EXPECT_EQ(judged(body_of("{}", std::string(", \"max_len\": ") + value)).first, 422) << value;
  }
  EXPECT_EQ(judged(body_of("{}", ", \"head_max_len\": 8193")).first, 422);
}

// This server has one checkpoint: whoever asks for another must not be answered from it, and a name
// that the original's router does not know leaves the choice to the server.
TEST(Wire, OnlyTheLoadedCheckpointIsAnsweredFrom) {
  const auto with = [](const std::string& member) { return judged(body_of("{}", ", " + member)); };
  for (const char* value : {R"("english")", R"(" EN ")", R"("laya")", R"("convaiinnovations/laya")",
                            R"("jev-1")", R"("laya-latest")", R"("")", "null", "5", "[]"}) {
    EXPECT_EQ(with(std::string(R"("model": )") + value).first, 200) << value;
  }
  for (const char* value :
       {R"("multilingual")", R"("ML")", R"("typed")", R"("typed-decisions")",
        R"("ConvaiInnovations/laya-multilingual")", R"("convaiinnovations/laya-typed-decisions")",
        R"("somebody/else")", R"("./checkpoint")", R"("~/checkpoint")", R"("c:\\checkpoint")"}) {
    EXPECT_EQ(with(std::string(R"("model": )") + value).first, 422) << value;
    EXPECT_THAT(with(std::string(R"("model": )") + value).second, HasSubstr("'english'"));
  }
  EXPECT_EQ(with(R"("task": "english")").first, 200);
  EXPECT_EQ(with(R"("task": null)").first, 200);
  EXPECT_EQ(with(R"("model": "en", "task": "typed_decisions")").first, 200);  // the model decides
  for (const char* value : {R"("typed_decisions")", R"("rank")", "5"}) {
    EXPECT_THAT(with(std::string(R"("task": )") + value).second, HasSubstr("'task'")) << value;
  }
  EXPECT_EQ(published_name("typed"), "typed-decisions");
  EXPECT_EQ(published_name("tiny"), "tiny");
}

TEST(Wire, ALanguageIsACodeAndWhatIsNotKnownIsSaid) {
  for (const char* key : {"lang", "lang_guess"}) {
    for (const char* value : {"true", "5", "[\"de\"]", "{}"}) {
      const auto [status, sentence] =
          judged(body_of("{}", std::string(", \"") + key + "\": " + value));
      EXPECT_EQ(status, 422) << key << value;
      EXPECT_THAT(sentence, HasSubstr(std::string("'") + key + "' must be a language code"));
    }
  }
  EXPECT_EQ(judged(body_of("[]", R"(, "lang": 5)")).first, 400);  // what is worse comes first
  EXPECT_THROW(read_request(text::parse_python_json(body_of("{}", R"(, "lang": 5)"), "line"), "l"),
               base::Error);
  for (const char* key : {"min_confidence", "hooks", "hooks_timeout"}) {
    const auto [status, sentence] = judged(body_of("{}", std::string(", \"") + key + "\": 0.5"));
    EXPECT_EQ(status, 422) << key;
    EXPECT_THAT(sentence, HasSubstr(key));
  }
}

TEST(Wire, ALargerBodyThanAllowedIsNotParsed) {
  EXPECT_EQ(judged(std::string((2U << 20U) + 1, '[')).first, 413);
}

// A NaN that a request smuggles into a legend would make a reply that is no JSON.
TEST(Wire, RepliesAreCompactJsonOrRefused) {
  Response response;
  response.answered.resize(1);
  AnsweredQuestion& only = response.answered.front();
  only.question.id = "q";
  only.question.type = text::QuestionType::kScore;
  only.question.options = {"level 0: é", "level 1: b"};
  only.question.labels = {text::PyValue::of_string("é"), text::PyValue::of_string("b")};
  only.answer.probabilities = {0.25, 0.75};
  only.row.ids = {1, 2, 3};
  only.row.distinct_options = 2;
  const std::string body = reply_body(response, "english", "here");
  EXPECT_THAT(body, HasSubstr(R"("legend":{"0":"é","1":"b"},"probabilities":{"0":0.25,"1":0.75})"));
  EXPECT_THAT(body, HasSubstr(R"("usage":{"input_tokens":3,"output_tokens":0)"));
  EXPECT_THAT(body, HasSubstr(R"("routing":{"model":"english","repo":"here")"));
  only.question.type = text::QuestionType::kChoice;  // a legend is text, a chosen label is not
  only.question.labels[1] = text::PyValue::of_float(std::nan(""));
  only.answer.best = 1;
  EXPECT_THROW(reply_body(response, "english", "here"), Refusal);
  EXPECT_EQ(detail_body("a \"b\""), R"({"detail":"a \"b\""})");
}

}  // namespace
}  // namespace abba::runtime
