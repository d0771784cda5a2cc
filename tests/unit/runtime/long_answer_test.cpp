// States longer than a row, on the synthetic checkpoint `tiny`: where the windows lie, that every
// token is read, and which window decides, against the windows answered one by one.
#include "engine/runtime/long_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/checkpoint/synthetic.h"
#include "engine/cpu/backend.h"
#include "tests/unit/temporary_folder.h"

namespace abba::runtime {
namespace {

using testing::HasSubstr;
using text::PyValue;

constexpr const char* kQuestions =
    R"({"team": {"type": "choice", "instructions": "Which?", "criteria": ["a", "b", "c"]},
        "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
        "level": {"type": "score", "instructions": "How?", "criteria": ["low", "high"]}})";

class LongAnswer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    checkpoint::make_synthetic(checkpoint::family_config("tiny"),
                               {.seed = 1, .out_dir = folder_->file("tiny")});
    cpu::Settings settings;
    settings.precision = ops::Precision::kFp32;
    model_ =
        std::make_unique<LoadedModel>(folder_->file("tiny"), cpu::make_backend(settings)).release();
  }
  static void TearDownTestSuite() {
    delete model_;
    folder_.reset();
  }
  static Runtime& runtime() { return model_->runtime; }

  static std::optional<TemporaryFolder> folder_;
  static LoadedModel* model_;
};

std::optional<TemporaryFolder> LongAnswer::folder_;
LoadedModel* LongAnswer::model_ = nullptr;

Request request_of(std::uint64_t words) {
  static const char* const kWords[] = {"refund", "naïve", "login", "漢字",  "order",
                                       "please", "twice", "🙂",  "today", "thanks"};
  base::Random random(7);
  std::string state;
  for (std::uint64_t i = 0; i < words; ++i) state += std::string(kWords[random.below(10)]) + " ";
  Request request;
  request.state = PyValue::of_string(state);
  request.questions = text::parse_python_json(kQuestions, "test");
  return request;
}

const PyValue& at(const PyValue& value, const char* key) {
  const PyValue* found = value.find(key);
  if (found == nullptr) throw std::runtime_error(std::string("there is no ") + key);
  return *found;
}

double strength(const PyValue& answer) {
  const PyValue* noul = answer.find("noul");
  return noul != nullptr ? noul->number : at(answer, "answer_confidence").number;
}

std::string without_window(PyValue answer) {
  EXPECT_EQ(answer.members.back().first, "window");
  answer.members.pop_back();
  return text::python_dumps(answer);
}

// Windows as the original cuts them, answered one by one.
struct Windows {
  std::vector<std::int64_t> begins;
  std::vector<PyValue> results;
};

Windows windows_of(Runtime& runtime, Request request, std::int64_t size, std::int64_t stride) {
  Windows windows;
  const auto ids = text::encode_state(runtime.tokenizer(), request.state).ids;
  const auto count = static_cast<std::int64_t>(ids.size());
  for (std::int64_t begin = 0;; begin += stride) {
    const std::vector<text::TokenId> part(ids.begin() + begin,
                                          ids.begin() + std::min(begin + size, count));
    request.state = PyValue::of_string(runtime.tokenizer().decode(part));
    windows.begins.push_back(begin);
    windows.results.push_back(response_value(runtime.answer(request)));
    if (begin + size >= count) return windows;
  }
}

TEST_F(LongAnswer, TheStrongestWindowDecidesAndIsNamed) {
  const Request request = request_of(900);
  const PyValue result = answer_long(runtime(), request, {.window = 100, .stride = 60});
  const Windows windows = windows_of(runtime(), request, 100, 60);
  ASSERT_GT(windows.results.size(), 10U);
  std::set<std::string> deciding;
  for (const char* id : {"team", "refund", "level"}) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < windows.results.size(); ++i) {
      if (strength(at(at(windows.results[i], "answers"), id)) >
          strength(at(at(windows.results[best], "answers"), id))) {
        best = i;
      }
    }
    const PyValue& answer = at(at(result, "answers"), id);
    EXPECT_EQ(without_window(answer),
              text::python_dumps(at(at(windows.results[best], "answers"), id)));
    const PyValue& window = at(answer, "window");
    EXPECT_EQ(at(window, "index").text, std::to_string(best));
    EXPECT_EQ(at(window, "token_start").text, std::to_string(windows.begins[best]));
    EXPECT_EQ(at(window, "count").text, std::to_string(windows.results.size()));
    deciding.insert(at(window, "index").text);
  }
  EXPECT_GT(deciding.size(), 1U);  // else the test could not tell the questions apart
}

TEST_F(LongAnswer, UsageIsSummedAndWindowsAreCounted) {
  const Request request = request_of(900);
  const PyValue usage = at(answer_long(runtime(), request, {.window = 100}), "usage");
  const Windows windows = windows_of(runtime(), request, 100, 50);
  std::int64_t tokens = 0;
  for (const PyValue& result : windows.results) {
    tokens += std::stoll(at(at(result, "usage"), "input_tokens").text);
  }
  EXPECT_EQ(at(usage, "input_tokens").text, std::to_string(tokens));
  EXPECT_EQ(at(usage, "output_tokens").text, "0");
  EXPECT_EQ(at(usage, "windows").text, std::to_string(windows.results.size()));
  EXPECT_EQ(at(usage, "truncated").text, "0");  // a count here, as in the original
}

TEST_F(LongAnswer, AStateThatFitsIsAnsweredWhole) {
  const Request request = request_of(20);
  const PyValue whole = answer_long(runtime(), request, {});
  PyValue plain = response_value(runtime().answer(request));
  EXPECT_EQ(text::python_dumps(at(whole, "answers")), text::python_dumps(at(plain, "answers")));
  EXPECT_EQ(at(at(whole, "usage"), "windows").text, "1");
  // A window that was asked for is scanned with, although the row has room.
  const PyValue scanned = answer_long(runtime(), request, {.window = 16});
  EXPECT_NE(at(at(scanned, "usage"), "windows").text, "1");
}

TEST_F(LongAnswer, WindowsFitBesideTheQuestionsAndPassOverNothing) {
  const checkpoint::ModelConfig& config = runtime().config();
  const PyValue few = text::parse_python_json(kQuestions, "test");
  const WindowPlan plan = plan_windows(runtime(), few, {});
  EXPECT_EQ(plan.size, std::max<std::int64_t>(64, config.max_len - config.head_max_len - 8));
  EXPECT_EQ(plan.stride, plan.size / 2);
  EXPECT_GT(plan.room, plan.size);
  // A window wider than the room is cut to it, and a stride that suited the wider one to half.
  const WindowPlan wide = plan_windows(runtime(), few, {.window = 8000, .stride = 4000});
  EXPECT_EQ(wide.size, plan.room);
  EXPECT_EQ(wide.stride, plan.room / 2);
  EXPECT_EQ(plan_windows(runtime(), few, {.window = 40, .stride = 40}).stride, 40);
  try {
    plan_windows(runtime(), few, {.window = 40, .stride = 41});
    ADD_FAILURE() << "tokens between the windows would not be read";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("passes over tokens"));
  }
}

TEST_F(LongAnswer, WithoutQuestionsNothingIsComputed) {
  Request request = request_of(900);
  request.questions = PyValue::dict();
  const PyValue result = answer_long(runtime(), request, {});
  EXPECT_TRUE(at(result, "answers").members.empty());
  EXPECT_EQ(at(at(result, "usage"), "input_tokens").text, "0");
}

}  // namespace
}  // namespace abba::runtime
