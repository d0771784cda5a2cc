#include "experiments/laya/output_stages.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace abba::laya {

bool wanted(const std::vector<std::string>& stages, const char* stage) {
  return stages.empty() || std::find(stages.begin(), stages.end(), stage) != stages.end();
}

abba_worker::Tensor stage_tensor(const char* stage, const std::vector<float>& values,
                                 std::int64_t width) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::int64_t> shape = {count};
  if (width != 1) shape = {count / width, width};
  return abba_worker::make_tensor(stage, shape, values.data());
}

abba_worker::Tensor ranking_tensor(std::span<const double> scores) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
    return scores[static_cast<std::size_t>(x)] > scores[static_cast<std::size_t>(y)];
  });
  abba_worker::Tensor tensor{kRanking,
                             "I32",
                             {static_cast<std::int64_t>(order.size())},
                             std::string(order.size() * 4, '\0'),
                             {}};
  std::memcpy(tensor.data.data(), order.data(), tensor.data.size());
  tensor.values.assign(order.begin(), order.end());
  return tensor;
}

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
