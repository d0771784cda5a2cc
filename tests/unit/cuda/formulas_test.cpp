// The arithmetic of the row-wise kernels, run on the host: against the double reference, and bit by
// bit against the CPU backend's vector code where both promise the same bits.
// Compiled for AVX2, as the CPU code it is compared with; every machine the project runs on has it.
#pragma GCC target("avx2,fma")

#include "engine/cuda/kernels/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/prng.h"
#include "engine/cpu/vector_math.h"
#include "engine/ops/reference/reference_ops.h"

namespace abba::cuda {
namespace {

using ops::reference::Values;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float cpu_gelu(float x) {
  float lanes[cpu::avx2::kLanes];
  cpu::avx2::store(lanes, cpu::avx2::gelu(cpu::avx2::broadcast(x)));
  return lanes[0];
}
float cpu_exp(float x) {
  float lanes[cpu::avx2::kLanes];
  cpu::avx2::store(lanes, cpu::avx2::exp_nonpositive(cpu::avx2::broadcast(x)));
  return lanes[0];
}

TEST(Formulas, exp_has_the_bits_of_the_cpu_from_zero_to_nothing) {
  for (float x = 0.0F; x > -95.0F; x -= 0.00037F) {
    ASSERT_EQ(bits_of(exp_nonpositive(x)), bits_of(cpu_exp(x))) << x;
  }
  for (const float x : {-0.0F, -1e-39F, -3e38F, -kInfinity, -87.33654F, -87.33655F}) {
    EXPECT_EQ(bits_of(exp_nonpositive(x)), bits_of(cpu_exp(x))) << x;
  }
  EXPECT_TRUE(std::isnan(exp_nonpositive(kNan)));
}

TEST(Formulas, gelu_has_the_bits_of_the_cpu_for_every_kind_of_finite_value) {
  for (std::uint64_t i = 0; i < 1U << 22U; ++i) {
    const float x = from_bits(static_cast<std::uint32_t>(i * 0x9e3779b1U));
    if (std::isfinite(x)) {
      ASSERT_EQ(bits_of(gelu(x)), bits_of(cpu_gelu(x))) << x;
    }
  }
  for (float x = -14.5F; x < 14.5F; x += 0.000173F) {
    ASSERT_EQ(bits_of(gelu(x)), bits_of(cpu_gelu(x))) << x;
  }
}

TEST(Formulas, gelu_is_the_double_reference_within_what_the_cpu_promises) {
  double right = 0.0;
  double left = 0.0;
  for (float x = -13.0F; x < 13.0F; x += 0.00173F) {
    // x/2 erfc keeps the left tail, where 1 + erf of the reference cancels.
    const double expected = 0.5 * x * std::erfc(-static_cast<double>(x) / std::sqrt(2.0));
    const double error = std::abs(gelu(x) - expected) / std::abs(expected);
    (x >= -1.0F ? right : left) = std::max(x >= -1.0F ? right : left, error);
  }
  EXPECT_LE(right, 4e-7);
  EXPECT_LE(left, 8e-6);
}

TEST(Formulas, gelu_of_infinity_is_infinity_and_a_nan_stays_one) {
  EXPECT_EQ(gelu(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(gelu(-kInfinity)));
  EXPECT_TRUE(std::isnan(gelu(kNan)));
  EXPECT_EQ(gelu(3e38F), 3e38F);
  EXPECT_EQ(gelu(-3e38F), 0.0F);
}

// Canary: the tanh approximation, which many mistake for GELU, is outside the limit.
TEST(Formulas, canary_the_tanh_gelu_is_caught) {
  const double x = 2.0;
  const double by_tanh = 0.5 * x * (1.0 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
  EXPECT_GT(std::abs(by_tanh - ops::reference::gelu(x)) / ops::reference::gelu(x), 4e-7);
}

TEST(Formulas, relu_lets_a_nan_through_and_keeps_the_sign_of_zero) {
  EXPECT_EQ(relu(2.0F), 2.0F);
  EXPECT_EQ(bits_of(relu(-2.0F)), 0U);
  EXPECT_EQ(bits_of(relu(-0.0F)), bits_of(-0.0F));
  EXPECT_EQ(relu(1e-45F), 1e-45F);
  EXPECT_TRUE(std::isnan(relu(kNan)));
}

TEST(Formulas, a_rotation_rounds_both_products_before_it_adds_them) {
  // low * cosine = 1 + 2^-11 + 2^-24 needs 25 bits; fused, its last bit would survive the sum.
  const float x = 1.0F + 0x1p-12F;
  EXPECT_EQ(rotate_low(x, 1.0F, x, 1.0F), 0x1p-11F);
  EXPECT_NE(std::fma(x, x, -1.0F), 0x1p-11F);
  EXPECT_EQ(rotate_high(-1.0F, x, x, 1.0F), 0x1p-11F);
  EXPECT_EQ(rotate_low(3.0F, 4.0F, 0.0F, 1.0F), -4.0F);
  EXPECT_EQ(rotate_high(3.0F, 4.0F, 0.0F, 1.0F), 3.0F);
}

float drawn(base::Random& random, float mean, float deviation) {
  return mean + deviation * static_cast<float>(random.normal());
}

// The sums of norm_row.cuh: two quads a thread, lanes as a butterfly, warps in order.
float block_sum(const std::vector<float>& row) {
  const std::size_t threads = (row.size() + 255) / 256 * 32;
  const auto sum_of_quad = [&](std::size_t quad) {
    float v[4] = {};
    for (std::size_t i = 0; i < 4; ++i) {
      if (4 * quad + i < row.size()) v[i] = row[4 * quad + i];
    }
    return sum_of_4(v);
  };
  float total = 0.0F;
  for (std::size_t warp = 0; warp < threads; warp += 32) {
    std::vector<float> lanes(32, 0.0F);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      lanes[lane] = round_add(sum_of_quad(warp + lane), sum_of_quad(threads + warp + lane));
    }
    for (std::size_t offset = 16; offset > 0; offset /= 2) {
      std::vector<float> next = lanes;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        next[lane] = round_add(lanes[lane], lanes[lane ^ offset]);
      }
      lanes = next;
    }
    total = warp == 0 ? lanes[0] : round_add(total, lanes[0]);
  }
  return total;
}

std::vector<float> norm_of(std::vector<float> row, float epsilon) {
  const auto n = static_cast<float>(row.size());
  const float mean = block_sum(row) / n;
  std::vector<float> squares;
  for (float& x : row) {
    x = round_sub(x, mean);
    squares.push_back(round_mul(x, x));
  }
  const RowStatistics statistics = row_statistics(block_sum(row), block_sum(squares), n, epsilon);
  for (float& x : row) x = scale_centered(round_sub(x, statistics.shift), statistics.scale, 1.0F);
  return row;
}

double worst_error_of_norm(const std::vector<float>& row) {
  const auto columns = static_cast<std::int64_t>(row.size());
  const Values expected = ops::reference::layer_norm(
      {1, columns, 1e-5F}, Values(row.begin(), row.end()), Values(row.size(), 1.0), {});
  const std::vector<float> computed = norm_of(row, 1e-5F);
  double worst = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double error = std::abs(computed[i] - expected[i]) / (1.0 + std::abs(expected[i]));
    worst = std::isnan(error) ? kInfinity : std::max(worst, error);
  }
  return worst;
}

constexpr std::size_t kWidths[] = {1,   2,   7,    8,    16,   33,   128,  256, 264,
                                   320, 768, 1023, 1024, 1025, 2624, 4096, 8192};

TEST(Formulas, a_norm_is_the_double_reference_for_random_rows) {
  base::Random random(7);
  for (const std::size_t width : kWidths) {
    std::vector<float> row(width);
    for (float& x : row) x = drawn(random, 1.0F, 3.0F);
    EXPECT_LE(worst_error_of_norm(row), 2e-6) << width;
  }
}

TEST(Formulas, a_norm_survives_one_huge_channel) {
  base::Random random(8);
  for (const std::size_t width : kWidths) {
    std::vector<float> row(width);
    for (float& x : row) x = drawn(random, 0.0F, 1.0F);
    row[width / 2] = 3e4F;
    EXPECT_LE(worst_error_of_norm(row), 2e-6) << width;
  }
}

TEST(Formulas, a_norm_of_equal_values_is_exactly_zero) {
  for (const std::size_t width : kWidths) {
    for (const float value : {0.1F, -3e4F, 1e-40F, 0.0F, 1e8F, 7.0F / 3.0F}) {
      for (const float y : norm_of(std::vector<float>(width, value), 1e-5F)) {
        ASSERT_EQ(y, 0.0F) << width << ' ' << value;
      }
    }
  }
}

TEST(Formulas, a_norm_of_subnormal_values_keeps_them) {
  std::vector<float> row(1024);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 7) * 1e-42F;
  const Values expected = ops::reference::layer_norm(
      {1, 1024, 1e-5F}, Values(row.begin(), row.end()), Values(row.size(), 1.0), {});
  const std::vector<float> computed = norm_of(row, 1e-5F);
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(computed[i], expected[i], 1e-42);
  EXPECT_NE(computed[6], computed[0]);
}

TEST(Formulas, a_norm_of_a_row_with_a_nan_or_an_infinity_is_all_nan) {
  for (const float poison : {kNan, kInfinity}) {
    std::vector<float> row(1024, 1.0F);
    row[700] = poison;
    for (const float y : norm_of(row, 1e-5F)) ASSERT_TRUE(std::isnan(y));
  }
}

// Canary: E[x^2] - mean^2 loses a row beside one huge value.
TEST(Formulas, canary_the_one_pass_variance_is_caught) {
  base::Random random(8);
  std::vector<float> row(1024);
  for (float& x : row) x = drawn(random, 1e4F, 1.0F);
  EXPECT_LE(worst_error_of_norm(row), 2e-3);
  std::vector<float> squares;
  for (const float x : row) squares.push_back(x * x);
  const float mean = block_sum(row) / 1024.0F;
  const float variance = block_sum(squares) / 1024.0F - mean * mean;
  EXPECT_GT(std::abs(variance - 1.0F), 0.5F);
}

}  // namespace
}  // namespace abba::cuda
