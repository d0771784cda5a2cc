#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/base/prng.h"
#include "harness/stats/distributions.h"
#include "harness/stats/family.h"
#include "harness/stats/quantiles.h"

namespace abba::stats {
namespace {

std::vector<double> counting(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// 1 - 0.95^72 and 1 - 0.99^368 are the first above 97.5 %.
TEST(Quantiles, a_tail_needs_72_or_368_values_for_both_sides) {
  EXPECT_EQ(fewest_for_quantile(0.95), 72);
  EXPECT_EQ(fewest_for_quantile(0.05), 72);
  EXPECT_EQ(fewest_for_quantile(0.99), 368);
  EXPECT_EQ(fewest_for_quantile(0.999), 3688);
  EXPECT_EQ(fewest_for_quantile(0.5), 6);
  EXPECT_EQ(fewest_for_quantile(0.95, 0.9), 59);
}

TEST(Quantiles, not_estimable_is_a_value_that_says_what_it_needs) {
  for (const auto& [p, needs] : {std::pair(0.95, 72), std::pair(0.99, 368)}) {
    const QuantileEstimate below = estimate_quantile(counting(needs - 1), p);
    EXPECT_FALSE(below.interval.estimable());
    EXPECT_EQ(not_estimable_text(below), "not estimable: needs n >= " + std::to_string(needs));
    const QuantileEstimate enough = estimate_quantile(counting(needs), p);
    EXPECT_TRUE(enough.interval.estimable());
    EXPECT_DOUBLE_EQ(enough.interval.high, needs);  // the largest value
    EXPECT_GE(enough.interval.level, 0.95);
    EXPECT_EQ(not_estimable_text(enough), "");
  }
}

TEST(Quantiles, bad_values_are_not_estimable_either) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double> values :
       {std::vector<double>{}, std::vector<double>(400, nan), std::vector<double>(400, INFINITY)}) {
    const QuantileEstimate estimate = estimate_quantile(std::move(values), 0.95);
    EXPECT_FALSE(estimate.interval.estimable());
    EXPECT_EQ(estimate.count, 0);
    EXPECT_TRUE(std::isfinite(estimate.value));
  }
  const QuantileEstimate equal = estimate_quantile(std::vector<double>(400, 3.0), 0.95);
  EXPECT_DOUBLE_EQ(equal.interval.low, 3);
  EXPECT_DOUBLE_EQ(equal.interval.high, 3);
}

// By hand: of 1,024 equally likely patterns of ten values above and below the median, 1 + 10 leave
// fewer than two below, so ranks 2 and 9 reach 1 - 2 x 11/1,024; ranks 3 and 8 would reach 0.89.
TEST(Quantiles, the_interval_of_a_median_of_ten_is_counted_by_hand) {
  const QuantileEstimate estimate = estimate_quantile(counting(10), 0.5);
  EXPECT_DOUBLE_EQ(estimate.interval.low, 2);
  EXPECT_DOUBLE_EQ(estimate.interval.high, 9);
  EXPECT_NEAR(estimate.interval.level, 0.978515625, 1e-12);
}

TEST(Quantiles, intervals_cover_as_often_as_they_say_and_follow_shift_and_scale) {
  base::Random random(7);
  int covered = 0;
  constexpr int kSets = 2000;
  for (int i = 0; i < kSets; ++i) {
    std::vector<double> values(200);
    for (double& v : values) {
      v = random.uniform();
    }
    const record::Interval interval = estimate_quantile(values, 0.95).interval;
    covered += interval.low <= 0.95 && 0.95 <= interval.high ? 1 : 0;
    if (i == 0) {
      for (double& v : values) {
        v = 3 + 2 * v;
      }
      const record::Interval moved = estimate_quantile(values, 0.95).interval;
      EXPECT_NEAR(moved.low, 3 + 2 * interval.low, 1e-12);
      EXPECT_NEAR(moved.high, 3 + 2 * interval.high, 1e-12);
    }
  }
  EXPECT_GE(covered, 0.95 * kSets);
  EXPECT_LE(covered, 0.985 * kSets);
}

// Neuhaus and others' fifteen comparisons, the worked example of Benjamini and Hochberg (1995),
// section 3.2: at 5 % Bonferroni rejects three hypotheses and the step-up procedure four.
TEST(BenjaminiHochberg, rejects_four_of_the_papers_fifteen) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  const auto rows = benjamini_hochberg(p, 0.05);
  const auto holm_rows = holm(p, 0.05);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& r) { return r.rejected; }), 4);
  EXPECT_EQ(
      std::count_if(holm_rows.begin(), holm_rows.end(), [](const auto& r) { return r.rejected; }),
      3);
  EXPECT_NEAR(rows[3].adjusted, 0.0095 * 15 / 4, 1e-15);
}

TEST(BenjaminiHochberg, order_changes_nothing_and_adjusted_values_never_fall) {
  std::vector<double> p = {0.04, 0.001, 0.5, 0.02, 0.02, 0.9};
  const auto rows = benjamini_hochberg(p, 0.05);
  std::vector<double> reversed(p.rbegin(), p.rend());
  const auto other = benjamini_hochberg(reversed, 0.05);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_DOUBLE_EQ(rows[i].adjusted, other[p.size() - 1 - i].adjusted);
    EXPECT_GE(rows[i].adjusted, p[i]);
    for (std::size_t j = 0; j < p.size(); ++j) {
      EXPECT_TRUE(p[i] > p[j] || rows[i].adjusted <= rows[j].adjusted);
    }
  }
}

TEST(BenjaminiHochberg, unusable_members_count_in_the_family) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto rows = benjamini_hochberg({0.02, nan, -1}, 0.05);
  EXPECT_NEAR(rows[0].adjusted, 0.06, 1e-15);
  EXPECT_FALSE(rows[0].rejected);
  EXPECT_DOUBLE_EQ(rows[1].adjusted, -1);
  EXPECT_DOUBLE_EQ(rows[2].adjusted, -1);
  EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
}

// Newcombe, Statistics in Medicine 17 (1998), table I, method 5: the exact limits.
TEST(Proportions, exact_limits_are_newcombes) {
  const struct {
    int count, total;
    double low, high;
  } rows[] = {{81, 263, 0.2527, 0.3676},
              {15, 148, 0.0578, 0.1617},
              {0, 20, 0, 0.1684},
              {1, 29, 0.0009, 0.1776}};
  for (const auto& row : rows) {
    const record::Interval interval = proportion_interval(row.count, row.total, 0.95);
    EXPECT_NEAR(interval.low, row.low, 5e-5);
    EXPECT_NEAR(interval.high, row.high, 5e-5);
  }
}

}  // namespace
}  // namespace abba::stats
