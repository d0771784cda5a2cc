#include "engine/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace abba::cpu::avx2 {
namespace {

float exp_of(float x) {
  return max_lanes(exp_nonpositive(broadcast(x)));
}
float gelu_of(float x) {
  return max_lanes(gelu(broadcast(x)));
}

double gelu_in_double(double x) {
  return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}
double relative(double computed, double expected) {
  return std::abs(computed - expected) / std::abs(expected);
}

TEST(VectorMath, exp_is_within_two_units_from_zero_to_the_smallest_normal_float) {
  double worst = 0.0;
  for (float x = 0.0F; x > -87.336F; x -= 0.00037F) {
    worst = std::max(worst, relative(exp_of(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LE(worst, 2e-7);
}

TEST(VectorMath, exp_of_zero_is_one_and_of_very_little_is_zero) {
  EXPECT_EQ(exp_of(0.0F), 1.0F);
  EXPECT_EQ(exp_of(-0.0F), 1.0F);
  EXPECT_EQ(exp_of(-1e-39F), 1.0F);
  EXPECT_EQ(exp_of(-87.4F), 0.0F);
  EXPECT_EQ(exp_of(-3e38F), 0.0F);
  EXPECT_EQ(exp_of(-std::numeric_limits<float>::infinity()), 0.0F);
}

TEST(VectorMath, a_nan_stays_one) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(exp_of(nan)));
  EXPECT_TRUE(std::isnan(gelu_of(nan)));
  EXPECT_TRUE(std::isnan(gelu_of(-nan)));
  EXPECT_TRUE(std::isnan(max_lanes(max(broadcast(0.0F), broadcast(nan)))));
}

TEST(VectorMath, gelu_keeps_its_relative_accuracy_on_both_sides) {
  double right = 0.0;
  double left = 0.0;
  for (float x = -13.0F; x < 13.0F; x += 0.000173F) {
    const double error = relative(gelu_of(x), gelu_in_double(x));
    (x >= -1.0F ? right : left) = std::max(x >= -1.0F ? right : left, error);
  }
  EXPECT_LE(right, 4e-7);
  EXPECT_LE(left, 8e-6);
}

TEST(VectorMath, gelu_of_extremes_is_finite_and_right) {
  EXPECT_EQ(gelu_of(0.0F), 0.0F);
  EXPECT_EQ(gelu_of(3e4F), 3e4F);
  EXPECT_EQ(gelu_of(-3e4F), 0.0F);
  EXPECT_EQ(gelu_of(1e30F), 1e30F);
  EXPECT_EQ(gelu_of(-14.0F), 0.0F);
  EXPECT_NEAR(gelu_of(1e-39F), 5e-40F, 2e-45F);
}

// Canary: the tanh approximation, which many mistake for GELU, is outside the limit.
TEST(VectorMath, canary_the_tanh_gelu_is_caught) {
  const double x = 2.0;
  const double by_tanh = 0.5 * x * (1.0 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
  EXPECT_GT(relative(by_tanh, gelu_in_double(x)), 4e-7);
}

TEST(VectorMath, rounding_to_bf16_equals_the_scalar_definition) {
  for (std::uint64_t i = 0; i < 1U << 22U; ++i) {
    const auto bits = static_cast<std::uint32_t>(i * 0x9e3779b1U);
    const float value = std::bit_cast<float>(bits);
    Bf16 stored[kLanes];
    store(stored, broadcast(value));
    ASSERT_EQ(stored[kLanes - 1].bits, base::to_bf16(value).bits) << bits;
  }
}

TEST(VectorMath, sums_of_lanes_count_every_lane_once) {
  float lane[kLanes];
  for (std::int64_t i = 0; i < kLanes; ++i) lane[i] = static_cast<float>(1 << i);
  EXPECT_EQ(sum_lanes(load(lane)), static_cast<float>((1 << kLanes) - 1));
  EXPECT_EQ(max_lanes(load(lane)), static_cast<float>(1 << (kLanes - 1)));
}

}  // namespace
}  // namespace abba::cpu::avx2
