// Published worked examples and SciPy 1.17.1.
// Darwin's maize: R. A. Fisher, "The Design of Experiments" (1935), chapter III: 15 differences in
// eighths of an inch, t = 2.148; Fisher's randomisation test gives 1726 of 32768 = 5.267 %.
// Depression scale: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods",
// example 3.1-3.4: Hodges-Lehmann -0.46, 96 % interval (-0.786, -0.010).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/prng.h"
#include "harness/stats/estimators.h"
#include "harness/stats/intervals.h"

namespace abba::stats {
namespace {

const std::vector<double> kDarwin = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
const std::vector<double> kDepression = {-0.952, 0.147, -1.022, -0.43, -0.62,
                                         -0.59,  -0.49, 0.08,   -0.01};
const std::vector<double> kPasses = {-0.0123, -0.0087, -0.0211, 0.0034,
                                     -0.0155, -0.0099, -0.0140, -0.0062};

TEST(Intervals, student_interval_of_darwins_maize) {
  const auto interval = student_interval(kDarwin, 0.95);
  EXPECT_NEAR(interval.low, 0.031193318392979563, 1e-9);
  EXPECT_NEAR(interval.high, 41.83547334827369, 1e-9);
  EXPECT_NEAR(student_p(kDarwin), 0.049702944021800866, 1e-12);
}

TEST(Intervals, student_interval_of_pass_values_is_scipys) {
  const auto at95 = student_interval(kPasses, 0.95);
  EXPECT_NEAR(at95.low, -0.01660030908289953, 1e-14);
  EXPECT_NEAR(at95.high, -0.004474690917100469, 1e-14);
  const auto at975 = student_interval(kPasses, 0.975);
  EXPECT_NEAR(at975.low, -0.017822345118827423, 1e-14);
  EXPECT_NEAR(at975.high, -0.0032526548811725696, 1e-14);
  EXPECT_NEAR(student_p(kPasses), 0.0045167706926494975, 1e-13);
}

TEST(Intervals, two_one_sided_tests_are_scipys) {
  EXPECT_NEAR(tost_p(kPasses, std::log1p(-0.02), std::log1p(0.02)), 0.0034931275632703964, 1e-13);
}

TEST(Intervals, tost_and_its_interval_say_the_same) {
  for (const double margin : {0.009, 0.0144, 0.0146, 0.0148, 0.015, 0.017, 0.02}) {
    const auto interval = student_interval(kPasses, 0.9);
    const bool inside = interval.low > -margin && interval.high < margin;
    EXPECT_EQ(tost_p(kPasses, -margin, margin) <= 0.05, inside) << margin;
  }
}

TEST(Intervals, signed_rank_is_scipys) {
  EXPECT_DOUBLE_EQ(signed_rank_p(kDepression), 0.0390625);
  EXPECT_DOUBLE_EQ(signed_rank_p(kPasses), 0.015625);
  const std::vector<double> twenty = {-0.502, -1.024, 0.052, 0.72,   1.436,  0.41,   -0.253,
                                      -0.485, 1.049,  1.935, 0.573,  -0.933, -0.658, 1.9,
                                      0.503,  -1.432, 0.216, -0.863, -0.329, -0.188};
  EXPECT_NEAR(signed_rank_p(twenty), 0.7561664581298828, 1e-12);
  EXPECT_NEAR(student_p(twenty), 0.6253851576395761, 1e-12);
}

TEST(Intervals, signed_rank_interval_of_the_book) {
  const auto interval = signed_rank_interval(kDepression, 0.95);
  EXPECT_NEAR(interval.low, -0.786, 1e-12);
  EXPECT_NEAR(interval.high, -0.010, 1e-12);
  EXPECT_NEAR(interval.level, 0.9609375, 1e-12);
  EXPECT_NEAR(hodges_lehmann(kDepression), -0.46, 1e-12);
}

TEST(Intervals, signed_rank_interval_needs_six_values) {
  EXPECT_FALSE(signed_rank_interval({1, 2, 3, 4, 5}, 0.95).estimable());
  const auto six = signed_rank_interval({1, 2, 3, 4, 5, 7}, 0.95);
  EXPECT_DOUBLE_EQ(six.low, 1);
  EXPECT_DOUBLE_EQ(six.high, 7);
  EXPECT_DOUBLE_EQ(six.level, 1 - 2.0 / 64);
}

TEST(Intervals, sign_flip_is_fishers) {
  EXPECT_DOUBLE_EQ(sign_flip_p(kDarwin), 1726.0 / 32768);
  EXPECT_DOUBLE_EQ(sign_flip_p(kPasses), 0.015625);
  EXPECT_DOUBLE_EQ(sign_flip_p({1, 1, 1, 1, 1}), -1);  // fewer than six
  EXPECT_DOUBLE_EQ(sign_flip_p({1, 2, 3, 4, 5, 6}), 2.0 / 64);
}

TEST(Intervals, drawn_sign_flips_come_near_the_exact_ones_and_repeat) {
  std::vector<double> values = kDarwin;  // 15 values and two that carry nothing: 17 are drawn
  values.push_back(1e-9);
  values.push_back(-1e-9);
  EXPECT_NEAR(sign_flip_p(values, 7), 1726.0 / 32768, 0.003);
  EXPECT_DOUBLE_EQ(sign_flip_p(values, 7), sign_flip_p(values, 7));
}

TEST(Intervals, nothing_is_estimable_without_spread_or_values) {
  EXPECT_FALSE(student_interval({}, 0.95).estimable());
  EXPECT_FALSE(student_interval({1}, 0.95).estimable());
  EXPECT_FALSE(student_interval({2, 2, 2}, 0.95).estimable());
  EXPECT_FALSE(student_interval({1, 2}, 1).estimable());
  EXPECT_DOUBLE_EQ(student_p({2, 2, 2}), -1);
  EXPECT_DOUBLE_EQ(signed_rank_p({0, 0}), -1);
  EXPECT_FALSE(signed_rank_interval({}, 0.95).estimable());
}

TEST(Intervals, shift_scale_and_sign_carry_through) {
  const auto base = student_interval(kDarwin, 0.9);
  std::vector<double> moved;
  std::vector<double> mirrored;
  for (const double v : kDarwin) {
    moved.push_back(3 * v + 10);
    mirrored.push_back(-v);
  }
  const auto shifted = student_interval(moved, 0.9);
  EXPECT_NEAR(shifted.low, 3 * base.low + 10, 1e-9);
  EXPECT_NEAR(shifted.high, 3 * base.high + 10, 1e-9);
  EXPECT_NEAR(hodges_lehmann(moved), 3 * hodges_lehmann(kDarwin) + 10, 1e-9);
  EXPECT_DOUBLE_EQ(signed_rank_p(mirrored), signed_rank_p(kDarwin));
  EXPECT_DOUBLE_EQ(sign_flip_p(mirrored), sign_flip_p(kDarwin));
  EXPECT_NEAR(student_interval(mirrored, 0.9).low, -base.high, 1e-12);
}

TEST(Estimators, hodges_lehmann_is_a_median_of_walsh_averages) {
  EXPECT_DOUBLE_EQ(hodges_lehmann(kDarwin), 25);
  EXPECT_DOUBLE_EQ(hodges_lehmann({4}), 4);
  EXPECT_DOUBLE_EQ(hodges_lehmann({1, 2}), 1.5);
}

TEST(Estimators, counting_finds_the_same_hodges_lehmann_as_all_pairs) {
  base::Random random(5);
  for (const std::size_t n : {513U, 514U, 700U}) {
    std::vector<double> values(n);
    for (double& v : values) {
      v = random.normal() + (random.below(10) == 0 ? 4 : 0);
    }
    EXPECT_DOUBLE_EQ(hodges_lehmann(values), median(walsh_averages(values))) << n;
    std::fill(values.begin(), values.end(), 2.5);
    EXPECT_DOUBLE_EQ(hodges_lehmann(values), 2.5);
  }
}

TEST(Estimators, quantiles_are_numpys) {
  const std::vector<double> q = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  EXPECT_DOUBLE_EQ(quantile(q, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(q, 0.05), 1);
  EXPECT_DOUBLE_EQ(quantile(q, 0.5), 4);
  EXPECT_DOUBLE_EQ(quantile(q, 0.95), 7.5);
  EXPECT_DOUBLE_EQ(quantile(q, 1), 9);
  EXPECT_DOUBLE_EQ(median_absolute_deviation(q), 1);
  EXPECT_DOUBLE_EQ(median({1, 2, 3, 10}), 2.5);
  EXPECT_NEAR(median_log({1, 4}), std::log(2.0), 1e-15);
}

}  // namespace
}  // namespace abba::stats
