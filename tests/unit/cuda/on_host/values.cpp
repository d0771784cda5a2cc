#include "tests/unit/cuda/on_host/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace abba::cuda::on_host {
namespace {

std::int64_t bytes_of(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

}  // namespace

ActValues::ActValues(Precision precision, std::int64_t count, std::int64_t shift)
    : precision_(precision),
      count_(count),
      memory_(static_cast<std::size_t>((count + shift) * bytes_of(precision) + 16), 0xff) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  first_byte_ = (16 - address % 16) % 16 + static_cast<std::size_t>(shift * bytes_of(precision));
}

ActValues ActValues::random(Precision precision, std::int64_t count, base::Random& random,
                            float scale, std::int64_t shift) {
  ActValues made(precision, count, shift);
  for (std::int64_t i = 0; i < count; ++i) {
    made.set(i, scale * static_cast<float>(random.normal()));
  }
  return made;
}

void ActValues::set(std::int64_t i, float value) {
  std::uint8_t* to = memory_.data() + first_byte_ + i * bytes_of(precision_);
  if (precision_ == Precision::kFp32) {
    std::memcpy(to, &value, 4);
  } else {
    const base::Bf16 narrow = base::to_bf16(value);
    std::memcpy(to, &narrow, 2);
  }
}

float ActValues::at(std::int64_t i) const {
  const std::uint8_t* from = memory_.data() + first_byte_ + i * bytes_of(precision_);
  if (precision_ == Precision::kFp32) {
    float value = 0.0F;
    std::memcpy(&value, from, 4);
    return value;
  }
  base::Bf16 narrow{};
  std::memcpy(&narrow, from, 2);
  return base::to_float(narrow);
}

Values ActValues::values() const {
  Values all;
  for (std::int64_t i = 0; i < count_; ++i) all.push_back(at(i));
  return all;
}

std::vector<std::uint8_t> ActValues::bits() const {
  const auto* first = memory_.data() + first_byte_;
  return {first, first + count_ * bytes_of(precision_)};
}

std::vector<float> random_floats(std::int64_t count, base::Random& random, float scale) {
  std::vector<float> floats;
  for (std::int64_t i = 0; i < count; ++i) {
    floats.push_back(scale * static_cast<float>(random.normal()));
  }
  return floats;
}

Values values_of(const std::vector<float>& floats) {
  return {floats.begin(), floats.end()};
}

float rounded(Precision precision, float value) {
  return precision == Precision::kBf16 ? base::round_to_bf16(value) : value;
}

double worst_error(const Values& computed, const Values& expected, double relative,
                   double absolute) {
  double worst = computed.size() == expected.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(computed.size(), expected.size()); ++i) {
    const double error =
        std::abs(computed[i] - expected[i]) / (absolute + relative * std::abs(expected[i]));
    if (!(error <= worst))
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

}  // namespace abba::cuda::on_host
