#include "engine/runtime/long_answer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace abba::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using text::PyValue;

constexpr std::int64_t kLeastWindow = 64;
constexpr std::int64_t kRowMargin = 8;

// State tokens that fit into a row beside the question that leaves the least.
std::optional<std::int64_t> smallest_room(const Runtime& runtime, const PyValue& questions) {
  const text::PromptBudget budget = text::PromptBudget::of(runtime.config());
  std::optional<std::int64_t> room;
  for (const text::Question& question : text::parse_questions(questions)) {
    const text::PromptRow row = text::build_row(runtime.tokenizer(), {}, question, budget);
    const std::int64_t left = budget.max_len - static_cast<std::int64_t>(row.ids.size());
    room = std::min(room.value_or(left), left);
  }
  return room;
}

PyValue& member(PyValue& dict, std::string_view key) {
  for (auto& [name, value] : dict.members) {
    if (name == key) return value;
  }
  dict.add(key, {});
  return dict.members.back().second;
}

std::int64_t whole_number(const PyValue& value) {
  if (value.kind == PyValue::Kind::kBool) return value.boolean ? 1 : 0;
  return value.kind == PyValue::Kind::kInt ? std::stoll(value.text) : 0;
}

// Numbers are added (a flag counts 1), objects merged, of anything else the last counts.
void add_usage(PyValue& total, const PyValue& usage) {
  for (const auto& [key, value] : usage.members) {
    PyValue& sum = member(total, key);
    if (value.kind == PyValue::Kind::kBool || value.kind == PyValue::Kind::kInt) {
      sum = PyValue::of_int(whole_number(sum) + whole_number(value));
    } else if (value.is_dict() && sum.is_dict()) {
      for (const auto& [name, entry] : value.members) member(sum, name) = entry;
    } else {
      sum = value;
    }
  }
}

double strength(const PyValue& answer) {
  const PyValue* noul = answer.find("noul");
  return (noul != nullptr ? noul : answer.find("answer_confidence"))->number;
}

// The answers of the windows that decide, and the usage of all.
class Scan {
 public:
  void add(PyValue result, std::int64_t begin, std::int64_t end) {
    for (auto& [id, answer] : member(result, "answers").members) {
      PyValue& best = member(answers_, id);
      if (!best.is_none() && strength(answer) <= strength(best)) continue;
      best = std::move(answer);
      PyValue window = PyValue::dict();
      window.add("index", PyValue::of_int(count_));
      window.add("token_start", PyValue::of_int(begin));
      window.add("token_end", PyValue::of_int(end));
      best.add("window", std::move(window));
    }
    add_usage(usage_, member(result, "usage"));
    model_ = member(result, "model");
    ++count_;
  }

  PyValue result() && {
    for (auto& [id, answer] : answers_.members) {
      member(answer, "window").add("count", PyValue::of_int(count_));
    }
    usage_.add("windows", PyValue::of_int(count_));
    PyValue value = PyValue::dict();
    value.add("model", std::move(model_));
    value.add("answers", std::move(answers_));
    value.add("usage", std::move(usage_));
    return value;
  }

 private:
  PyValue answers_ = PyValue::dict();
  PyValue usage_ = PyValue::dict();
  PyValue model_;
  std::int64_t count_ = 0;
};

}  // namespace

WindowPlan plan_windows(const Runtime& runtime, const PyValue& questions,
                        const WindowOptions& options) {
  const checkpoint::ModelConfig& config = runtime.config();
  const std::int64_t asked = options.window.value_or(
      std::max(kLeastWindow, config.max_len - config.head_max_len - kRowMargin));
  WindowPlan plan;
  plan.room = smallest_room(runtime, questions).value_or(asked);
  if (plan.room <= 0) {
    throw Error(ErrorCode::kBadInput, "questions",
                "fill the whole row of " + std::to_string(config.max_len) +
                    " tokens and leave no room for the state; give fewer or shorter options");
  }
  plan.size = std::min(asked, plan.room);
  const std::int64_t half = std::max<std::int64_t>(1, plan.size / 2);
  plan.stride = options.stride.value_or(half);
  if (plan.stride <= plan.size) return plan;
  if (plan.stride > asked) {
    throw Error(ErrorCode::kBadInput, "stride",
                std::to_string(plan.stride) + " passes over tokens, a window has " +
                    std::to_string(plan.size) + "; give at most that");
  }
  plan.stride = half;  // it suited the window asked for, which had to be cut
  return plan;
}

PyValue answer_long(Runtime& runtime, const Request& request, const WindowOptions& options) {
  const WindowPlan plan = plan_windows(runtime, request.questions, options);
  const text::EncodedState state = text::encode_state(runtime.tokenizer(), request.state);
  const auto count = static_cast<std::int64_t>(state.ids.size());
  if (count <= (options.window ? plan.size : plan.room)) {
    PyValue whole = response_value(runtime.answer(request));
    member(whole, "usage").add("windows", PyValue::of_int(1));
    return whole;
  }
  Scan scan;
  Request part = request;
  for (std::int64_t begin = 0;; begin += plan.stride) {
    const std::int64_t end = std::min(begin + plan.size, count);
    const std::span<const text::TokenId> ids(state.ids);
    part.state = PyValue::of_string(runtime.tokenizer().decode(
        ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
    scan.add(response_value(runtime.answer(part)), begin, end);
    if (end == count) return std::move(scan).result();
  }
}

}  // namespace abba::runtime
