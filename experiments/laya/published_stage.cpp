#include "experiments/laya/published_stage.h"

namespace abba::laya {

void append_published(text::QuestionType type, const text::Answer& answer,
                      std::vector<float>& numbers) {
  if (type == text::QuestionType::kNoul) {
    numbers.push_back(static_cast<float>(1 - answer.value));
    numbers.push_back(static_cast<float>(answer.value));
    return;
  }
  for (const double p : answer.probabilities) numbers.push_back(static_cast<float>(p));
}

void append_published(std::int32_t type, std::span<const float> logits,
                      std::span<const float> action_logits, const text::Temperatures& temperatures,
                      std::vector<float>& numbers) {
  text::Question question;
  question.id = "row";
  // Rows of any shape may be drawn; only with two options is one a noul question.
  if (type != 2 || logits.size() == 2) question.type = static_cast<text::QuestionType>(type);
  question.options.resize(logits.size());
  append_published(question.type, decode_answer(question, logits, action_logits, temperatures),
                   numbers);
}

}  // namespace abba::laya
