#include "engine/runtime/request.h"

#include <algorithm>

namespace abba::runtime {
namespace {

using text::PyValue;

PyValue count_of(std::size_t count) {
  return PyValue::of_int(static_cast<long long>(count));
}

// Questions whose options no longer differ in their ids; absent when there are none.
PyValue collapsed_options(const Response& response) {
  PyValue collapsed = PyValue::dict();
  for (const AnsweredQuestion& answered : response.answered) {
    const std::size_t total = answered.question.options.size();
    if (answered.row.distinct_options == total) continue;
    PyValue entry = PyValue::dict();
    entry.add("total", count_of(total));
    entry.add("distinct", count_of(answered.row.distinct_options));
    const auto& limit = answered.row.option_ids_limit;
    entry.add("tokens_per_option", limit ? PyValue::of_int(*limit) : PyValue{});
    collapsed.add(answered.question.id, std::move(entry));
  }
  return collapsed;
}

// How much of the state was read: `dropped` is the most that one question gave up.
void add_truncation(const Response& response, PyValue& usage) {
  std::size_t dropped = 0;
  PyValue truncated = PyValue::list();
  for (const AnsweredQuestion& answered : response.answered) {
    dropped = std::max(dropped, answered.row.state_ids - answered.row.state_ids_kept);
    if (answered.row.is_truncated()) {
      truncated.items.push_back(PyValue::of_string(answered.question.id));
    }
  }
  usage.add("state_tokens", count_of(response.answered.front().row.state_ids));
  usage.add("state_tokens_dropped", count_of(dropped));
  usage.add("truncated", PyValue::of_bool(dropped > 0));
  usage.add("truncated_questions", std::move(truncated));
}

PyValue usage_value(const Response& response) {
  PyValue usage = PyValue::dict();
  usage.add("input_tokens", count_of(response.input_tokens()));
  usage.add("output_tokens", PyValue::of_int(0));
  if (response.answered.empty()) return usage;
  add_truncation(response, usage);
  PyValue collapsed = collapsed_options(response);
  if (!collapsed.members.empty()) usage.add("options", std::move(collapsed));
  return usage;
}

}  // namespace

std::size_t Response::input_tokens() const {
  std::size_t total = 0;
  for (const AnsweredQuestion& question : answered) total += question.row.ids.size();
  return total;
}

PyValue response_value(const Response& response) {
  PyValue answers = PyValue::dict();
  for (const AnsweredQuestion& answered : response.answered) {
    answers.add(answered.question.id, text::answer_value(answered.question, answered.answer));
  }
  PyValue value = PyValue::dict();
  value.add("model", PyValue::of_string("laya-rl-agent"));
  value.add("answers", std::move(answers));
  value.add("usage", usage_value(response));
  return value;
}

}  // namespace abba::runtime
