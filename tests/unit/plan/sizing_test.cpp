#include "harness/plan/sizing.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"

namespace abba::plan {
namespace {

record::SlotCounts size(const record::SlotRule& rule, double a_ms, double b_ms) {
  return size_slot(rule, "w", a_ms * 1e6, b_ms * 1e6);
}

TEST(Sizing, takes_the_longer_of_requests_and_time) {
  const record::SlotRule rule;  // 10 + 30 requests, 50 + 250 ms, at most 300 and 2000 ms
  EXPECT_EQ(size(rule, 20, 20).requests, 30);  // 600 ms: the count decides
  EXPECT_EQ(size(rule, 2, 2).requests, 125);   // 250 ms: the time decides
  EXPECT_EQ(size(rule, 0.01, 0.01).requests, 300);
  EXPECT_EQ(size(rule, 20, 20).warmup, 10);
  EXPECT_EQ(size(rule, 0.5, 0.5).warmup, 100);
}

TEST(Sizing, max_ms_wins_but_leaves_five_and_one) {
  const record::SlotRule rule;
  EXPECT_EQ(size(rule, 100, 100).requests, 20);
  EXPECT_EQ(size(rule, 1000, 1000).requests, 5);
  EXPECT_EQ(size(rule, 1000, 1000).warmup, 2);
  EXPECT_EQ(size(rule, 1e5, 1e5).requests, 5);
  EXPECT_EQ(size(rule, 1e5, 1e5).warmup, 1);
}

TEST(Sizing, faster_arm_fills_the_time_and_slower_arm_meets_the_cap) {
  const record::SlotRule rule;
  EXPECT_EQ(size(rule, 1, 4).requests, 250);
  EXPECT_EQ(size(rule, 4, 1).requests, 250);
  EXPECT_EQ(size(rule, 1, 80).requests, 25);
}

TEST(Sizing, the_seeds_counts_are_exact) {
  record::SlotRule rule;
  rule.warmup_requests = 10;
  rule.warmup_ms = 0;
  rule.min_requests = rule.max_requests = 50;
  rule.min_ms = 0;
  rule.max_ms = 1e9;
  for (const double ms : {0.0, 0.001, 1.0, 5000.0}) {
    EXPECT_EQ(size(rule, ms, ms * 2).requests, 50);
    EXPECT_EQ(size(rule, ms, ms * 2).warmup, 10);
  }
}

TEST(Sizing, random_rules_stay_inside_their_bounds) {
  base::Random random(11);
  for (int i = 0; i < 2000; ++i) {
    record::SlotRule rule;
    rule.warmup_requests = static_cast<std::int64_t>(random.below(20));
    rule.warmup_ms = random.uniform() * 100;
    rule.min_requests = 1 + static_cast<std::int64_t>(random.below(50));
    rule.max_requests = rule.min_requests + static_cast<std::int64_t>(random.below(500));
    rule.min_ms = random.uniform() * 500;
    rule.max_ms = rule.min_ms + random.uniform() * 3000;
    const double a = 1 + random.uniform() * 1e9;
    const double b = 1 + random.uniform() * 1e9;
    const auto counts = size_slot(rule, "w", a, b);
    EXPECT_EQ(counts.requests, size_slot(rule, "w", b, a).requests);
    EXPECT_GE(counts.requests, std::min(kLeastRequests, rule.min_requests));
    EXPECT_LE(counts.requests, rule.max_requests);
    if (counts.requests > kLeastRequests) {
      EXPECT_LE(static_cast<double>(counts.requests) * std::max(a, b), rule.max_ms * 1e6);
    }
    EXPECT_GE(counts.warmup, rule.warmup_requests > 0 ? 1 : 0);
  }
}

TEST(Sizing, typical_request_ignores_warmups_failures_and_the_other_arm) {
  record::Pass pass;
  record::Block block;
  block.workload = "w";
  record::Slot a;
  a.arm = "A";
  a.samples = {{0, true, 0, 900},
               {1, false, 0, 10},
               {2, false, 0, 30},
               {3, false, 0, 20},
               {4, false, 0, 1, record::SampleStatus::kFailed}};
  record::Slot b;
  b.arm = "B";
  b.samples = {{0, false, 0, 500}};
  block.slots = {a, b};
  pass.blocks = {block};
  EXPECT_EQ(typical_request_ns(pass, "w", "A"), 20);
  EXPECT_EQ(typical_request_ns(pass, "w", "B"), 500);
  EXPECT_LT(typical_request_ns(pass, "other", "A"), 0);
}

}  // namespace
}  // namespace abba::plan
