#include "engine/text/answer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/text/numpy_math.h"

namespace abba::text {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 128;

template <typename T>
T pairwise_sum(std::span<const T> values) {
  const std::size_t count = values.size();
  if (count < kLanes) {
    T sum = 0;
    for (const T value : values) sum += value;
    return sum;
  }
  if (count > kBlock) {
    std::size_t half = count / 2;
    half -= half % kLanes;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
  }
  std::array<T, kLanes> r{};
  std::copy_n(values.begin(), kLanes, r.begin());
  std::size_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) r[lane] += values[i + lane];
  }
  T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < count; ++i) sum += values[i];
  return sum;
}

std::vector<float> softmax(std::span<const float> logits, float temperature) {
  std::vector<float> p(logits.begin(), logits.end());
  for (float& z : p) z /= temperature;
  const float largest = *std::max_element(p.begin(), p.end());
  for (float& z : p) z = numpy_exp(z - largest);
  const float sum = numpy_sum(std::span<const float>(p));
  for (float& z : p) z /= sum;
  return p;
}

// 1 - H(p) / ln K, in float32; 1 for a single option.
double entropy_confidence(const std::vector<float>& p) {
  if (p.size() < 2) return 1.0;
  std::vector<float> terms;
  terms.reserve(p.size());
  for (const float x : p) terms.push_back(x * numpy_log(std::clamp(x, 1e-12F, 1.0F)));
  const float entropy = -numpy_sum(std::span<const float>(terms));
  const auto scale = static_cast<float>(std::log(static_cast<double>(p.size())));
  return std::clamp(1.0F - entropy / scale, 0.0F, 1.0F);
}

double expected_level(const std::vector<float>& p) {
  std::vector<double> terms;
  terms.reserve(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) terms.push_back(static_cast<double>(i) * double{p[i]});
  return numpy_sum(std::span<const double>(terms));
}

void require_finite(const Question& question, std::span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    throw base::Error(base::ErrorCode::kBroken, "question \"" + question.id + "\"",
                      "a logit is not a finite number; compare the outputs with the reference");
  }
}

PyValue probabilities_value(const Question& question, const Answer& answer) {
  PyValue result = PyValue::dict();
  for (std::size_t i = 0; i < answer.probabilities.size(); ++i) {
    const bool is_choice = question.type == QuestionType::kChoice;
    result.add(is_choice ? python_key(question.labels[i]) : std::to_string(i),
               PyValue::of_float(answer.probabilities[i]));
  }
  return result;
}

}  // namespace

double clamp_temperature(double value) {
  return std::isfinite(value) ? std::clamp(value, 0.5, 5.0) : 1.0;
}

std::string temperature_key(QuestionType type, std::size_t option_count) {
  const char* size = option_count <= 2    ? "2"
                     : option_count <= 5  ? "3-5"
                     : option_count <= 10 ? "6-10"
                                          : "11+";
  return std::string(name_of(type)) + ":" + size;
}

Temperatures Temperatures::of(const checkpoint::ModelConfig& config) {
  return {config.temperature, config.temperature_by_options};
}

double Temperatures::of_question(QuestionType type, std::size_t option_count) const {
  const std::string wanted = temperature_key(type, option_count);
  for (const auto& [key, temperature] : by_options) {
    if (key == wanted) return clamp_temperature(temperature);
  }
  return clamp_temperature(by_type[static_cast<std::size_t>(type)]);
}

float numpy_sum(std::span<const float> values) {
  return pairwise_sum(values);
}

double numpy_sum(std::span<const double> values) {
  return pairwise_sum(values);
}

double round4(double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.4f", value);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + std::strlen(text.data()), rounded);
  return rounded;
}

Answer decode_answer(const Question& question, std::span<const float> logits,
                     std::span<const float> act_logits, const Temperatures& temperatures) {
  ABBA_CHECK(!logits.empty() && !act_logits.empty() && logits.size() == question.options.size());
  require_finite(question, logits);
  require_finite(question, act_logits);
  const double temperature = temperatures.of_question(question.type, logits.size());
  Answer answer;
  answer.exact = softmax(logits, static_cast<float>(temperature));
  const std::vector<float>& p = answer.exact;
  for (const float x : p) answer.probabilities.push_back(round4(x));
  const auto best = std::max_element(p.begin(), p.end());
  answer.best = static_cast<std::size_t>(best - p.begin());
  answer.answer_confidence = round4(std::clamp(*best, 0.0F, 1.0F));
  if (question.type == QuestionType::kNoul) {
    const double yes = p[1];
    answer.value = round4(yes);
    answer.confidence = round4(std::max(yes, 1.0 - yes));
  } else {
    answer.value = question.type == QuestionType::kScore ? round4(expected_level(p)) : 0;
    answer.confidence = round4(entropy_confidence(p));
  }
  answer.act_probability = round4(softmax(act_logits, 1.0F)[0]);
  return answer;
}

PyValue answer_value(const Question& question, const Answer& answer) {
  PyValue result = PyValue::dict();
  result.add("type", PyValue::of_string(name_of(question.type)));
  switch (question.type) {
    case QuestionType::kChoice:
      result.add("choice", question.labels[answer.best]);
      result.add("probabilities", probabilities_value(question, answer));
      break;
    case QuestionType::kScore: {
      result.add("score", PyValue::of_float(answer.value));
      PyValue legend = PyValue::dict();
      for (std::size_t i = 0; i < question.labels.size(); ++i) {
        legend.add(std::to_string(i), PyValue::of_string(rendered(question.labels[i])));
      }
      result.add("legend", std::move(legend));
      result.add("probabilities", probabilities_value(question, answer));
      break;
    }
    case QuestionType::kNoul:
      result.add("noul", PyValue::of_float(answer.value));
      break;
  }
  result.add("confidence", PyValue::of_float(answer.confidence));
  result.add("answer_confidence", PyValue::of_float(answer.answer_confidence));
  PyValue action = PyValue::dict();
  action.add("act_probability", PyValue::of_float(answer.act_probability));
  result.add("action", std::move(action));
  return result;
}

}  // namespace abba::text
