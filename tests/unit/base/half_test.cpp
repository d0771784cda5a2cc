// bf16 and fp16: the scalar conversions against arithmetic, the bulk ones against the scalar ones.
#include "engine/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/prng.h"

namespace abba::base {
namespace {

constexpr std::uint32_t kPatterns = 65536;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// The value of an fp16 pattern by its definition, in double.
double f16_value(std::uint16_t pattern) {
  const int exponent = pattern >> 10U & 0x1f;
  const double fraction = pattern & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (pattern & 0x8000U) != 0 ? -magnitude : magnitude;
}

// Floats that make rounding hard: all patterns of the format, their midpoints and what lies beside.
template <typename Half>
std::vector<float> hard_floats() {
  std::vector<float> values;
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const float value = to_float(Half{static_cast<std::uint16_t>(pattern)});
    const float next = to_float(Half{static_cast<std::uint16_t>(pattern + 1)});
    const float middle = value / 2 + next / 2;
    values.insert(values.end(), {value, middle, std::nextafter(middle, 0.0F),
                                 std::nextafter(middle, std::numeric_limits<float>::infinity())});
  }
  Random random(7);
  for (int i = 0; i < 200000; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next_u64())));
  }
  return values;
}

TEST(Half, F16WidensToItsDefinition) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    if ((half & 0x7c00U) == 0x7c00U) continue;
    ASSERT_EQ(static_cast<double>(to_float(F16{half})), f16_value(half)) << pattern;
  }
  EXPECT_EQ(to_float(F16{0x7c00}), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(to_float(F16{0x8000})));
}

TEST(Half, EveryPatternSurvivesTheWayThroughFloat) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    const bool f16_nan = (half & 0x7fffU) > 0x7c00U;
    const bool bf16_nan = (half & 0x7fffU) > 0x7f80U;
    EXPECT_EQ(to_f16(to_float(F16{half})).bits, f16_nan ? half | 0x200U : half);
    EXPECT_EQ(to_bf16(to_float(Bf16{half})).bits, bf16_nan ? half | 0x40U : half);
  }
}

// Nearest, ties to even, judged without the code under test: no other finite pattern may be nearer.
TEST(Half, F16RoundsToNearestEven) {
  for (const float value : hard_floats<F16>()) {
    if (!std::isfinite(value) || std::abs(value) >= 65519) continue;
    const std::uint16_t result = to_f16(value).bits;
    const double error = std::abs(f16_value(result) - static_cast<double>(value));
    for (const int step : {-1, 1}) {
      const auto other = static_cast<std::uint16_t>(result + step);
      if ((other & 0x7c00U) == 0x7c00U || ((other ^ result) & 0x8000U) != 0) continue;
      const double other_error = std::abs(f16_value(other) - static_cast<double>(value));
      ASSERT_TRUE(error < other_error || (error == other_error && result % 2 == 0)) << value;
    }
  }
  EXPECT_EQ(to_f16(65519.996F).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_f16(-1e30F).bits, 0xfc00);
}

TEST(Half, Bf16RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808000U)).bits, 0x3f80);  // tie, even below
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f818000U)).bits, 0x3f82);  // tie, even above
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808001U)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x00018000U)).bits, 0x0002);  // subnormals are kept
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7f800001U)).bits, 0x7fc0);  // NaN, not infinity
  EXPECT_EQ(round_to_bf16(1.00390625F), 1.0F);
}

TEST(Half, BulkEqualsScalarOnEveryPattern) {
  // 5 more than a multiple of 8, so that the tail is used as well.
  const std::size_t count = kPatterns + 5;
  std::vector<F16> f16(count);
  std::vector<Bf16> bf16(count);
  for (std::size_t i = 0; i < count; ++i) {
    f16[i].bits = static_cast<std::uint16_t>(i);
    bf16[i].bits = static_cast<std::uint16_t>(i);
  }
  std::vector<float> wide_f16(count);
  std::vector<float> wide_bf16(count);
  std::vector<Bf16> recoded(count);
  convert(f16.data(), wide_f16.data(), count);
  convert(bf16.data(), wide_bf16.data(), count);
  convert(f16.data(), recoded.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(bits(wide_f16[i]), bits(to_float(f16[i]))) << i;
    ASSERT_EQ(bits(wide_bf16[i]), bits(to_float(bf16[i]))) << i;
    ASSERT_EQ(recoded[i], to_bf16(to_float(f16[i]))) << i;
  }
}

template <typename Half>
std::size_t bulk_differences(Half (*scalar)(float)) {
  const std::vector<float> values = hard_floats<Half>();
  std::vector<Half> narrow(values.size(), Half{0xffff});
  convert(values.data(), narrow.data(), values.size());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(narrow[i] == scalar(values[i]))) ++differences;
  }
  return differences;
}

TEST(Half, BulkRoundsAsScalar) {
  EXPECT_EQ(bulk_differences<Bf16>(&to_bf16), 0U);
  EXPECT_EQ(bulk_differences<F16>(&to_f16), 0U);
}

TEST(Half, CanaryTruncationIsSeen) {
  const auto truncate = [](float value) {
    return Bf16{static_cast<std::uint16_t>(bits(value) >> 16U)};
  };
  EXPECT_GT(bulk_differences<Bf16>(truncate), 10000U);
}

}  // namespace
}  // namespace abba::base
