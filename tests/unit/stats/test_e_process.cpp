#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/prng.h"
#include "harness/stats/e_process.h"

namespace abba::stats {
namespace {

// Student's t with 3 degrees of freedom, scaled to sd 1.
double heavy(base::Random& random) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double z = random.normal();
    squares += z * z;
  }
  return random.normal() / std::sqrt(squares / 3) / std::sqrt(3.0);
}

double share_decided(int passes, double effect, bool heavy_tails, std::uint64_t seed) {
  constexpr int kRuns = 4000;
  base::Random random(seed);
  int decided = 0;
  for (int i = 0; i < kRuns; ++i) {
    std::vector<double> values;
    for (int p = 0; p < passes; ++p) {
      values.push_back(effect + (heavy_tails ? heavy(random) : random.normal()));
    }
    decided += first_decided(log_e_process(values, 1), 0.05) > 0 ? 1 : 0;
  }
  return decided / double(kRuns);
}

TEST(EProcess, of_two_values_is_the_formula) {
  const auto log_e = log_e_process({2, -1}, 2, 0.5);  // x = 1, -0.5
  ASSERT_EQ(log_e.size(), 2U);
  EXPECT_NEAR(log_e[0], std::log(std::exp(0.5 / 3.0) / std::sqrt(1.5)), 1e-15);
  EXPECT_NEAR(log_e[1], 0.5 * 0.25 / (2 * 1.625) - 0.5 * std::log(1.625), 1e-15);
}

// Looked at after every pass; a t-test looked at so often errs in 29 % (design, 40 passes).
TEST(EProcess, errs_in_five_per_cent_at_most_however_often_one_looks) {
  EXPECT_LE(share_decided(40, 0, false, 1), 0.05);
  EXPECT_LE(share_decided(40, 0, true, 2), 0.05);
}

// The reference simulation: 90 % by 40 passes at 0.75 sd, 99.7 % at 1 sd.
TEST(EProcess, finds_real_effects_by_forty_passes) {
  EXPECT_NEAR(share_decided(40, 0.75, false, 3), 0.90, 0.015);
  EXPECT_GE(share_decided(40, 1, false, 4), 0.994);
}

TEST(EProcess, signs_and_units_do_not_matter_and_nothing_overflows) {
  const std::vector<double> values = {0.3, -0.1, 0.4, 0.25};
  const auto plain = log_e_process(values, 0.1);
  const auto mirrored = log_e_process({-0.3, 0.1, -0.4, -0.25}, 0.1);
  const auto rescaled = log_e_process({300, -100, 400, 250}, 100);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_DOUBLE_EQ(plain[i], mirrored[i]);
    EXPECT_NEAR(plain[i], rescaled[i], 1e-12);
  }
  EXPECT_TRUE(std::isfinite(log_e_process(std::vector<double>(2000, 50.0), 1).back()));
}

TEST(EProcess, bad_input_gives_no_evidence) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(log_e_process({1, nan}, 1).empty());
  EXPECT_TRUE(log_e_process({1, INFINITY}, 1).empty());
  EXPECT_TRUE(log_e_process({1e200, 1e200}, 1e-200).empty());
  for (const double scale : {0.0, -1.0, nan, double(INFINITY)}) {
    EXPECT_TRUE(log_e_process({1, 2}, scale).empty());
    EXPECT_TRUE(log_e_process({1, 2}, 1, scale).empty());
  }
  EXPECT_EQ(first_decided({}, 0.05), -1);
  EXPECT_EQ(first_decided({100}, 0), -1);
  EXPECT_EQ(first_decided({100}, 1), -1);
  EXPECT_EQ(first_decided({0, 2.9, 3.0, 0}, 0.05), 3);  // log 20 = 2.9957
}

}  // namespace
}  // namespace abba::stats
