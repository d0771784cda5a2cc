// Logits of one row to the answer that is published: calibration, softmax, confidences, rounding.
// Arithmetic is float32 in numpy's order of summation where the original's is, double where the
// original's is; every published number is rounded to four decimals as Python's round() does it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/config.h"
#include "engine/text/python_json.h"
#include "engine/text/question.h"

namespace abba::text {

// `value` confined to [0.5, 5]; 1 if it is no finite number.
[[nodiscard]] double clamp_temperature(double value);

// "choice:2", "choice:3-5", "choice:6-10", "choice:11+" and so on.
[[nodiscard]] std::string temperature_key(QuestionType type, std::size_t option_count);

struct Temperatures {
  std::array<double, 3> by_type = {1, 1, 1};  // choice, score, noul
  std::vector<std::pair<std::string, double>> by_options;

  static Temperatures of(const checkpoint::ModelConfig& config);
  // The clamped temperature of a question: by its key if there is one, else by its type.
  [[nodiscard]] double of_question(QuestionType type, std::size_t option_count) const;
};

// Sum in numpy's order (pairwise_sum of its add loop): one by one below 8 values, in 8 running sums
// up to 128, halves at a multiple of 8 above.
[[nodiscard]] float numpy_sum(std::span<const float> values);
[[nodiscard]] double numpy_sum(std::span<const double> values);

// Python's round(value, 4): the decimal nearest to the exact binary value.
[[nodiscard]] double round4(double value);

struct Answer {
  std::vector<float> exact;           // probabilities before rounding, one per option
  std::vector<double> probabilities;  // rounded
  std::size_t best = 0;               // index of the first largest
  double value = 0;                   // score: expected level; noul: probability of true; rounded
  double confidence = 0;
  double answer_confidence = 0;
  double act_probability = 0;
};

// `logits` are those of the question's options (no padding), `act_logits` the action head's. Throws
// Error(kBroken) if one of them is no finite number. Precondition: neither is empty, and there are
// as many logits as options.
Answer decode_answer(const Question& question, std::span<const float> logits,
                     std::span<const float> act_logits, const Temperatures& temperatures);

// The answer object as the original prints it: {"type": ..., "choice": ..., "probabilities": ...}.
PyValue answer_value(const Question& question, const Answer& answer);

}  // namespace abba::text
