#include "harness/plan/cost.h"

#include <gtest/gtest.h>

#include "harness/plan/make_plan.h"

namespace abba::plan {
namespace {

record::Manifest standard() {
  record::Manifest manifest;
  manifest.workloads.resize(2);
  manifest.workloads[0].id = "p";
  manifest.workloads[1].id = "q";
  return manifest;
}

TEST(Cost, counts_starts_slots_and_requests) {
  const auto manifest = standard();
  CostAssumptions assumptions;
  assumptions.worker_start_s = 3;
  assumptions.request_ns = {{"p", 10e6}, {"q", 10e6}};
  const auto cost = cost_of(manifest, make_plan(manifest), assumptions);
  EXPECT_DOUBLE_EQ(cost.start_minutes, 26 * 3 / 60.0);
  // 2 workloads x 4 slots x (1 feasibility + 12 x 4 blocks) x (10 + 30) requests
  EXPECT_EQ(cost.requests, 2 * 4 * 49 * 40);
  EXPECT_NEAR(cost.measuring_minutes, 2 * 4 * 49 * 0.405 / 60, 1e-9);
  EXPECT_GT(cost.megabytes, 0.6);
}

TEST(Cost, counts_the_starts_of_each_placement) {
  auto manifest = standard();
  CostAssumptions assumptions;
  assumptions.worker_start_s = 60;
  const auto starts = [&](record::Placement placement) {
    manifest.protocol.placement = placement;
    return cost_of(manifest, make_plan(manifest), assumptions).start_minutes;
  };
  EXPECT_DOUBLE_EQ(starts(record::Placement::kBothLoaded), 2 + 12 * 2);
  EXPECT_DOUBLE_EQ(starts(record::Placement::kSharedProcess), 2 + 12);
  // the two of the preflight, then one a slot
  EXPECT_DOUBLE_EQ(starts(record::Placement::kOneAtATime), 2 + 2 * 4 * 49);
}

TEST(Cost, counts_one_start_an_arm_of_a_later_pass_and_no_request) {
  auto manifest = standard();
  CostAssumptions assumptions;
  assumptions.worker_start_s = 60;
  assumptions.other_request_ns = 6e9;
  const auto before = cost_of(manifest, make_plan(manifest), assumptions);
  manifest.graph_capture = base::parse_json(R"({"workloads": ["q"]})", "");
  const auto after = cost_of(manifest, make_plan(manifest), assumptions);
  EXPECT_DOUBLE_EQ(after.start_minutes - before.start_minutes, 2);
  EXPECT_DOUBLE_EQ(after.measuring_minutes - before.measuring_minutes, 2 * 10 * 6 / 60.0);
  EXPECT_EQ(after.requests, before.requests);
  EXPECT_EQ(after.megabytes, before.megabytes);
}

TEST(Cost, names_each_limit_that_is_exceeded) {
  auto manifest = standard();
  const auto cost = cost_of(manifest, make_plan(manifest), {});
  EXPECT_TRUE(limits_exceeded(manifest, cost).empty());
  manifest.protocol.limits.max_wall_s = 10;
  manifest.protocol.limits.max_requests = 100;
  const auto reasons = limits_exceeded(manifest, cost);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_NE(reasons[0].find("max_wall_s"), std::string::npos);
  EXPECT_NE(reasons[1].find("max_requests"), std::string::npos);
}

TEST(Cost, offers_only_plans_that_cost_less_and_says_what_they_lose) {
  const auto manifest = standard();
  const auto now = cost_of(manifest, make_plan(manifest), {});
  const auto plans = cheaper_plans(manifest, {});
  ASSERT_EQ(plans.size(), 3U);
  double last = now.start_minutes + now.measuring_minutes;
  for (const auto& plan : plans) {
    const double minutes = plan.cost.start_minutes + plan.cost.measuring_minutes;
    EXPECT_LE(minutes, last);
    EXPECT_FALSE(plan.loses.empty());
    last = minutes;
  }
  auto two_pass = manifest;
  two_pass.protocol.preset = record::Preset::kTwoPass;
  EXPECT_TRUE(cheaper_plans(two_pass, {}).empty());
}

}  // namespace
}  // namespace abba::plan
