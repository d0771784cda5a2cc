// The runtime on the synthetic checkpoint `tiny`: its answers are those of its parts put together
// row by row, whatever the batches; a request leaves no trace in the next; memory is bounded.
#include "engine/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/checkpoint/synthetic.h"
#include "engine/cpu/backend.h"
#include "tests/unit/temporary_folder.h"

namespace abba::runtime {
namespace {

using testing::HasSubstr;
using text::PyValue;

class RuntimeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    checkpoint::make_synthetic(checkpoint::family_config("tiny"),
                               {.seed = 1, .out_dir = folder_->file("tiny")});
    model_ = load().release();
  }
  static void TearDownTestSuite() {
    delete model_;
    folder_.reset();
  }
  static std::unique_ptr<LoadedModel> load(LanguageTemperatures by_language = {}) {
    cpu::Settings settings;
    settings.precision = ops::Precision::kFp32;
    return std::make_unique<LoadedModel>(folder_->file("tiny"), cpu::make_backend(settings),
                                         std::move(by_language));
  }

  static std::optional<TemporaryFolder> folder_;
  static LoadedModel* model_;
};

std::optional<TemporaryFolder> RuntimeTest::folder_;
LoadedModel* RuntimeTest::model_ = nullptr;

PyValue json(const std::string& text) {
  return text::parse_python_json(text, "test");
}

std::string words(base::Random& random, std::uint64_t count) {
  static const char* const kWords[] = {"refund", "invoice", "login",  "late",  "order",
                                       "please", "twice",   "broken", "today", "thanks"};
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    text += (i > 0 ? " " : "") + std::string(kWords[random.below(10)]);
  }
  return text;
}

// Questions of all types, one option up to twelve.
PyValue drawn_questions(base::Random& random, std::uint64_t count) {
  PyValue questions = PyValue::dict();
  for (std::uint64_t i = 0; i < count; ++i) {
    PyValue definition = PyValue::dict();
    const std::uint64_t type = random.below(3);
    definition.add("type", PyValue::of_string(type == 0 ? "choice" : type == 1 ? "score" : "noul"));
    definition.add("instructions", PyValue::of_string(words(random, 1 + random.below(20)) + "?"));
    PyValue criteria = PyValue::list();
    for (std::uint64_t k = 1 + random.below(12); k > 0; --k) {
      criteria.items.push_back(PyValue::of_string(std::to_string(k) + " " + words(random, 2)));
    }
    if (type != 2) definition.add("criteria", std::move(criteria));
    questions.add("q" + std::to_string(i), std::move(definition));
  }
  return questions;
}

Request drawn_request(std::uint64_t seed, std::uint64_t questions, std::uint64_t state_words) {
  base::Random random(seed);
  Request request;
  request.questions = drawn_questions(random, questions);
  request.state = PyValue::of_string(words(random, state_words));
  return request;
}

// Largest difference of a logit between the runtime's rows and the same rows run one by one, not
// padded.
double apart_from_single_rows(LoadedModel& model, const Response& response) {
  double apart = 0;
  for (const AnsweredQuestion& answered : response.answered) {
    const model::Row row{answered.row.ids, static_cast<std::int32_t>(answered.row.type),
                         answered.row.markers};
    const model::Batch batch = model::make_batch(std::vector<model::Row>{row}, 0);
    model::LaunchPlan& plan = model.network.prepare(batch.shape);
    model::Decision decision = model.network.make_decision(plan);
    model.network.encode(plan, batch);
    model.network.decide(plan, decision);
    for (std::size_t k = 0; k < answered.logits.size(); ++k) {
      apart = std::max(apart, std::abs(double{decision.logits[k]} - double{answered.logits[k]}));
    }
  }
  return apart;
}

TEST_F(RuntimeTest, AnswersAreThoseOfTheRowsOneByOne) {
  const auto alone = load();
  for (const std::uint64_t questions : {1U, 3U, 7U, 37U}) {
    const Response response =
        model_->runtime.answer(drawn_request(questions, questions, 30 * questions));
    ASSERT_EQ(response.answered.size(), questions);
    EXPECT_LT(apart_from_single_rows(*alone, response), 1e-4) << questions;
    for (const AnsweredQuestion& answered : response.answered) {
      const text::Answer again =
          text::decode_answer(answered.question, answered.logits, answered.action_logits,
                              text::Temperatures::of(model_->checkpoint.config));
      EXPECT_EQ(again.exact, answered.answer.exact);
      EXPECT_EQ(answered.logits.size(), answered.question.options.size());
    }
  }
}

// The canary of the test above: two rows exchanged are seen.
TEST_F(RuntimeTest, CanaryAnExchangedRowIsSeen) {
  const auto alone = load();
  Response response = model_->runtime.answer(drawn_request(5, 3, 20));
  std::swap(response.answered[0].row.ids, response.answered[2].row.ids);
  response.answered[0].row.markers.resize(1);
  response.answered[2].row.markers.resize(1);
  response.answered[0].logits.resize(1);
  response.answered[1].logits.resize(1);
  response.answered[2].logits.resize(1);
  EXPECT_GT(apart_from_single_rows(*alone, response), 1e-3);
}

TEST_F(RuntimeTest, ARefusedRequestLeavesNoTrace) {
  const Request request = drawn_request(11, 4, 60);
  const std::string before = text::python_dumps(response_value(model_->runtime.answer(request)));
  Request bad = request;
  bad.questions.members[2].second = json(R"({"type": "score", "instructions": "?"})");
  try {
    model_->runtime.answer(bad);
    ADD_FAILURE() << "accepted";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("q2"));
  }
  bad = request;
  bad.max_len = 9;
  EXPECT_THROW(model_->runtime.answer(bad), base::Error);
  model_->runtime.answer(drawn_request(12, 2, 500));
  EXPECT_EQ(text::python_dumps(response_value(model_->runtime.answer(request))), before);
}

TEST_F(RuntimeTest, WithoutQuestionsThereIsNothingToDo) {
  Request request = drawn_request(1, 0, 10);
  const std::string value = text::python_dumps(response_value(model_->runtime.answer(request)));
  EXPECT_EQ(value, R"({"model": "laya-rl-agent", "answers": {}, )"
                   R"("usage": {"input_tokens": 0, "output_tokens": 0}})");
}

TEST_F(RuntimeTest, UsageSaysWhatWasCutAndWhichOptionsCollapsed) {
  Request request = drawn_request(3, 1, 3000);
  std::string criteria;
  for (int i = 0; i < 60; ++i) {
    criteria += std::string(i > 0 ? ", " : "") + "\"the same long beginning of a label " +
                std::to_string(i) + "\"";
  }
  request.questions =
      json(R"({"c": {"type": "choice", "instructions": "?", "criteria": [)" + criteria + "]}}");
  const PyValue usage = *response_value(model_->runtime.answer(request)).find("usage");
  EXPECT_TRUE(usage.find("truncated")->boolean);
  EXPECT_EQ(text::python_dumps(*usage.find("truncated_questions")), R"(["c"])");
  EXPECT_EQ(usage.find("input_tokens")->text, std::to_string(model_->checkpoint.config.max_len));
  ASSERT_NE(usage.find("options"), nullptr);
  EXPECT_EQ(usage.find("options")->find("c")->find("total")->text, "60");
}

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// encoder within model within engine, and every span within the one it names as its parent.
TEST_F(RuntimeTest, SpansNestAndCoverTheRequest) {
  SpanLog log(steady_ns);
  model_->runtime.answer(drawn_request(21, 7, 100), &log);
  ASSERT_FALSE(log.records().empty());
  EXPECT_EQ(log.dropped(), 0U);
  EXPECT_STREQ(log.records().front().name, kEngine);
  std::map<std::string, std::int64_t> total;
  for (const SpanRecord& record : log.records()) {
    EXPECT_LE(record.start_ns, record.end_ns);
    total[record.name] += record.end_ns - record.start_ns;
    if (record.parent < 0) continue;
    const SpanRecord& parent = log.records()[static_cast<std::size_t>(record.parent)];
    EXPECT_LE(parent.start_ns, record.start_ns) << record.name;
    EXPECT_GE(parent.end_ns, record.end_ns) << record.name;
  }
  for (const char* name :
       {kTokenize, kModel, kEncoder, kPack, kUpload, kEncode, kHead, kScore, kReadback, kDecode}) {
    EXPECT_GT(total[name], 0) << name;
  }
  EXPECT_LE(total[kEncode], total[kEncoder]);
  EXPECT_LE(total[kEncoder] + total[kHead], total[kModel]);
  EXPECT_LE(total[kModel] + total[kTokenize] + total[kDecode], total[kEngine]);
}

TEST_F(RuntimeTest, PlansOfManyShapesAreGivenUp) {
  const auto model = load();
  std::string first;
  const Request request = drawn_request(1, 2, 40);
  for (std::uint64_t i = 0; i < 9; ++i) {
    if (i % 4 == 0) {
      const std::string now = text::python_dumps(response_value(model->runtime.answer(request)));
      EXPECT_TRUE(first.empty() || now == first);
      first = now;
    }
    Request other = drawn_request(i, 17 + i, 30 + 40 * i);
    model->runtime.answer(other);
    EXPECT_LE(model->runtime.plan_tokens(), Runtime::kMostPlanTokens);
  }
}

TEST_F(RuntimeTest, TemperaturesOfALanguageReplaceTheCheckpoints) {
  const auto by_language =
      read_language_temperatures(base::parse_json(R"({"de": {"temperature": [5, 5, "x"],
                                  "temperature_by_options": {"score:2": 0.01}}})",
                                                  "test"),
                                 "test");
  const auto model = load(by_language);
  Request request = drawn_request(1, 1, 20);
  request.questions =
      json(R"({"c": {"type": "choice", "instructions": "?", "criteria": ["a", "b", "c"]}})");
  const Response plain = model->runtime.answer(request);
  request.language = "fr";
  EXPECT_EQ(model->runtime.answer(request).answered[0].answer.exact,
            plain.answered[0].answer.exact);
  request.language = "DE-at";
  const Response german = model->runtime.answer(request);
  EXPECT_EQ(german.answered[0].logits, plain.answered[0].logits);
  EXPECT_EQ(german.answered[0].answer.exact,
            text::decode_answer(german.answered[0].question, german.answered[0].logits,
                                german.answered[0].action_logits, by_language.at("de"))
                .exact);
  EXPECT_NE(german.answered[0].answer.exact, plain.answered[0].answer.exact);
  for (const char* bad : {R"([])", R"({"de": {"temperature": [1]}})", R"({"de": 5})",
                          R"({"de": {"temperature": [1, 1, 1], "temperature_by_options": 1}})"}) {
    EXPECT_THROW(read_language_temperatures(base::parse_json(bad, "test"), "test"), base::Error);
  }
}

TEST_F(RuntimeTest, ATokenizerWithMoreIdsThanTheNetworkEmbedsIsRefused) {
  checkpoint::ModelConfig config = checkpoint::family_config("tiny");
  config.vocab_size = 50'000;
  config.pad_token_id = 0;
  checkpoint::make_synthetic(config, {.seed = 1, .out_dir = folder_->file("few")});
  try {
    LoadedModel(folder_->file("few"), cpu::make_backend({}));
    ADD_FAILURE() << "accepted";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("embeds 50000"));
  }
}

}  // namespace
}  // namespace abba::runtime
