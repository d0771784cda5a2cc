#include "engine/text/numpy_math.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace abba::text {
namespace {

// Coefficients of the Remez approximations, constant term first, as numpy publishes them.
constexpr std::array<float, 6> kExpAbove = {
    9.999999999980870924916e-01F, 7.257664613233124478488e-01F, 2.473615434895520810817e-01F,
    5.114512081637298353406e-02F, 6.757896990527504603057e-03F, 5.082762527590693718096e-04F};
constexpr std::array<float, 3> kExpBelow = {1.0F, -2.742335390411667452936e-01F,
                                            2.159509375685829852307e-02F};
constexpr std::array<float, 6> kLogAbove = {0.0F,
                                            9.999999999999998702752e-01F,
                                            2.112677543073053063722e+00F,
                                            1.480000633576506585156e+00F,
                                            3.808837741388407920751e-01F,
                                            2.589979117907922693523e-02F};
constexpr std::array<float, 6> kLogBelow = {1.0F,
                                            2.612677543073109236779e+00F,
                                            2.453006071784736363091e+00F,
                                            9.864942958519418960339e-01F,
                                            1.546476374983906719538e-01F,
                                            5.875095403124574342950e-03F};
constexpr float kLog2E = 1.442695040888963407359924681001892137F;
constexpr float kLn2 = 0.693147180559945309417232121458176568F;
constexpr float kMinusLn2High = -6.93145752e-1F;  // ln 2 in two parts; products with the first
constexpr float kMinusLn2Low = -1.42860677e-6F;   // are exact
constexpr float kUnderflow = -103.972084F;        // below, the result is zero
constexpr float kSqrt2 = 1.41421356237309504880F;

template <std::size_t kCount>
float polynomial(const std::array<float, kCount>& coefficients, float x) {
  float value = coefficients[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) value = std::fma(value, x, coefficients[i]);
  return value;
}

}  // namespace

float numpy_exp(float x) {
  if (x < kUnderflow) return 0;
  const float power = std::nearbyint(x * kLog2E);
  const float rest = std::fma(power, kMinusLn2Low, std::fma(power, kMinusLn2High, x));
  const float quotient = polynomial(kExpAbove, rest) / polynomial(kExpBelow, rest);
  return std::ldexp(quotient, static_cast<int>(power));
}

float numpy_log(float x) {
  int exponent = 0;
  float mantissa = 2 * std::frexp(x, &exponent);  // in [1, 2)
  --exponent;
  if (mantissa > kSqrt2) {
    mantissa /= 2;
    ++exponent;
  }
  const float rest = mantissa - 1;
  const float quotient = polynomial(kLogAbove, rest) / polynomial(kLogBelow, rest);
  return std::fma(static_cast<float>(exponent), kLn2, quotient);
}

}  // namespace abba::text
