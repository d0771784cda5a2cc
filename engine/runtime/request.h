// A request and its response as plain data, and the response as the object the original's predict()
// returns: {"model": "laya-rl-agent", "answers": {id: answer}, "usage": {...}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/answer.h"
#include "engine/text/prompt.h"
#include "engine/text/python_json.h"
#include "engine/text/question.h"

namespace abba::runtime {

struct Request {
  text::PyValue state;      // a string, or any JSON value; a list keeps its newest tokens
  text::PyValue questions;  // {id: definition}
  std::optional<std::int64_t> max_len;  // instead of the checkpoint's
  std::optional<std::int64_t> head_max_len;
  std::string language;  // "de", "pt-BR"; empty = none
};

// One question over the state.
struct AnsweredQuestion {
  text::Question question;
  text::PromptRow row;
  std::vector<float> logits;         // raw, one per option
  std::vector<float> action_logits;  // raw
  text::Answer answer;
};

// In the order of the questions; without questions nothing is computed.
struct Response {
  std::vector<AnsweredQuestion> answered;

  [[nodiscard]] std::size_t input_tokens() const;  // of all rows, padding left out
};

text::PyValue response_value(const Response& response);

}  // namespace abba::runtime
