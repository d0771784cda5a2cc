#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/prng.h"
#include "harness/stats/gate_plan.h"
#include "harness/stats/power.h"

namespace abba::stats {
namespace {

std::vector<double> draw(base::Random& random, int passes, double effect) {
  std::vector<double> values(static_cast<std::size_t>(passes));
  for (double& v : values) {
    v = effect + random.normal();
  }
  return values;
}

TEST(GatePlan, confirms_on_10_12_or_14_passes) {
  for (const auto& [workloads, passes] :
       {std::pair(1, 10), std::pair(5, 12), std::pair(20, 14), std::pair(2, 12)}) {
    const GatePlan plan = gate_plan(workloads);
    EXPECT_EQ(plan.confirm_passes, passes) << workloads;
    EXPECT_EQ(plan.screen_passes, 6);
    EXPECT_GE(plan.power, kDesignedGatePower);
    EXPECT_NEAR(workloads * plan.screen_alpha * plan.confirm_alpha, 0.0003, 1e-12);
    // Two passes fewer would not do: the count is the smallest even one.
    EXPECT_LT(one_sided_power(6, 2, 0.05) * one_sided_power(passes - 2, 2, plan.confirm_alpha),
              kDesignedGatePower);
    EXPECT_NEAR(gate_sees(plan, plan.power), kGateEffect, 1e-6);
  }
  EXPECT_EQ(gate_plan(0).confirm_passes, 0);
  EXPECT_EQ(gate_plan(-3).workloads, 0);
  EXPECT_GE(gate_plan(1'000'000).power, kGatePower);
}

// The gate's two promises on normal pass values. Under no effect, 100,000 draws of each look stand
// in for the rare event: each is counted by itself, for these draws share nothing.
TEST(GatePlan, keeps_its_false_red_rate_and_finds_two_pass_sd) {
  const GatePlan plan = gate_plan(5);
  base::Random random(3);
  int screened = 0;
  int confirmed = 0;
  constexpr int kNull = 100'000;
  for (int i = 0; i < kNull; ++i) {
    screened += screen(plan, draw(random, 6, 0)) == GateColour::kSuspicious ? 1 : 0;
    confirmed += confirm(plan, draw(random, 12, 0)) == GateColour::kRed ? 1 : 0;
  }
  EXPECT_NEAR(screened / double(kNull), plan.screen_alpha, 0.003);
  EXPECT_LT(5.0 * screened / kNull * confirmed / kNull, kMostFalseRed);
  EXPECT_NEAR(confirmed, 120, 35);  // 0.12 % of the draws, 3.2 standard deviations
  int found = 0;
  constexpr int kReal = 4000;
  for (int i = 0; i < kReal; ++i) {
    found += screen(plan, draw(random, 6, 2)) == GateColour::kSuspicious &&
                     confirm(plan, draw(random, 12, 2)) == GateColour::kRed
                 ? 1
                 : 0;
  }
  EXPECT_NEAR(found / double(kReal), plan.power, 0.012);
}

TEST(GatePlan, worse_is_the_direction_of_the_metric) {
  const GatePlan plan = gate_plan(1);
  const std::vector<double> up = {0.10, 0.11, 0.09, 0.10, 0.12, 0.10, 0.11, 0.10, 0.09, 0.11};
  std::vector<double> down = up;
  for (double& v : down) {
    v = -v;
  }
  EXPECT_EQ(screen(plan, up), GateColour::kSuspicious);
  EXPECT_EQ(confirm(plan, up), GateColour::kRed);
  EXPECT_EQ(screen(plan, down), GateColour::kGreen);
  EXPECT_EQ(confirm(plan, down, true), GateColour::kRed);
  EXPECT_EQ(screen(plan, up, true), GateColour::kGreen);
  std::vector<double> scaled = up;
  for (double& v : scaled) {
    v *= 1e-3;
  }
  EXPECT_NEAR(worse_p(scaled, 6, false), worse_p(up, 6, false), 1e-12);
}

TEST(GatePlan, what_cannot_be_compared_has_neither_colour) {
  const GatePlan plan = gate_plan(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(screen(plan, {}), GateColour::kNotComparable);
  EXPECT_EQ(screen(plan, {1, 2, 3, 4, 5}), GateColour::kNotComparable);
  EXPECT_EQ(screen(plan, {1, 2, 3, 4, 5, nan}), GateColour::kNotComparable);
  EXPECT_EQ(screen(plan, {1, 2, 3, 4, 5, INFINITY}), GateColour::kNotComparable);
  EXPECT_EQ(screen(plan, {1, 1, 1, 1, 1, 1}), GateColour::kNotComparable);
  EXPECT_EQ(screen(plan, {1e308, -1e308, 1e308, -1e308, 1e308, 1}), GateColour::kNotComparable);
  EXPECT_EQ(confirm(plan, {1, 2, 3, 4, 5, 6}), GateColour::kNotComparable);  // 10 are planned
  EXPECT_EQ(screen(gate_plan(0), {1, 2, 3, 4, 5, 6}), GateColour::kNotComparable);
}

// Numbers from statsmodels 0.15.0 (TTestPower); by 10 passes an effect of one pass-sd is found in
// 80 %, as the design's table says.
TEST(Power, of_the_noncentral_t_is_statsmodels) {
  EXPECT_NEAR(two_sided_power(10, 1, 0.05), 0.8030968566327218, 1e-9);
  EXPECT_NEAR(one_sided_power(6, 2, 0.05), 0.993614276113491, 1e-9);
  EXPECT_NEAR(two_sided_power(10, 0, 0.05), 0.05, 1e-12);
  EXPECT_NEAR(one_sided_power(10, 0, 0.05), 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(two_sided_power(10, 1, 0.05), two_sided_power(10, -1, 0.05));
  EXPECT_DOUBLE_EQ(one_sided_power(12, 1e6, 0.05), 1);
  EXPECT_DOUBLE_EQ(one_sided_power(12, -1e6, 0.05), 0);
  EXPECT_DOUBLE_EQ(one_sided_power(1, 1, 0.05), 0);
  EXPECT_DOUBLE_EQ(one_sided_power(9, NAN, 0.05), 0);
}

}  // namespace
}  // namespace abba::stats
