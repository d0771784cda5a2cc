#include "harness/run/tensor_difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "engine/base/half.h"

namespace abba::run {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Integers that order as the numbers do, one step a representable value.
template <typename Unsigned>
std::int64_t ordered(Unsigned bits) {
  constexpr int kSignBit = sizeof(Unsigned) * 8 - 1;
  const auto magnitude = static_cast<std::int64_t>(bits & ((Unsigned{1} << kSignBit) - 1U));
  return (bits >> kSignBit) != 0 ? -magnitude : magnitude;
}

double ulp_distance(const std::string& dtype, float a, float b) {
  std::int64_t x = 0;
  std::int64_t y = 0;
  if (dtype == "F32") {
    x = ordered(std::bit_cast<std::uint32_t>(a));
    y = ordered(std::bit_cast<std::uint32_t>(b));
  } else if (dtype == "BF16") {
    x = ordered(base::to_bf16(a).bits);
    y = ordered(base::to_bf16(b).bits);
  } else if (dtype == "F16") {
    x = ordered(base::to_f16(a).bits);
    y = ordered(base::to_f16(b).bits);
  } else {
    return -1;
  }
  return static_cast<double>(x > y ? x - y : y - x);
}

std::string position(std::size_t index, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, *extent));
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

double distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b) ? 0 : kInfinite;
  }
  return a == b ? 0 : std::abs(static_cast<double>(a) - static_cast<double>(b));
}

}  // namespace

TensorDifference difference(const record::OutputTensor& a, const record::OutputTensor& reference) {
  TensorDifference result;
  if (a.dtype != reference.dtype || a.shape != reference.shape || a.values.empty() ||
      a.values.size() != reference.values.size()) {
    return result;
  }
  result.comparable = true;
  result.max_abs = 0;
  double squares = 0;
  double reference_squares = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const float x = a.values[i];
    const float y = reference.values[i];
    const double apart = distance(x, y);
    squares += apart * apart;
    reference_squares += std::isnan(y) ? 0 : static_cast<double>(y) * y;
    result.max_abs = std::max(result.max_abs, apart);
    result.ulp = std::max(result.ulp, ulp_distance(a.dtype, x, y));
    if (result.first_divergence.empty() && apart > 0) {
      char numbers[80];
      std::snprintf(numbers, sizeof numbers, ": %.9g against %.9g", static_cast<double>(x),
                    static_cast<double>(y));
      result.first_divergence = position(i, a.shape) + numbers;
    }
  }
  const bool nothing = squares == 0;
  result.nrms = nothing ? 0 : std::sqrt(squares / reference_squares);  // x / 0 is infinite
  return result;
}

}  // namespace abba::run
