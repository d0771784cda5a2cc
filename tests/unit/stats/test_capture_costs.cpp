// Which captures count, and after how many requests one is won back.
#include <gtest/gtest.h>

#include "harness/stats/capture_costs.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::RunRecord;
using synthetic::add_captures;
using synthetic::captured;
using synthetic::eager;

RunRecord declared() {
  RunRecord run;
  run.manifest.workloads.resize(1);
  run.manifest.workloads[0].id = "w";
  return run;
}

// B takes 5 % less than the 2 ms of A: 0.1 ms a request.
record::Verdict faster_b() {
  record::Verdict verdict;
  verdict.workload = "w";
  verdict.metric = "latency";
  verdict.effect = -0.05;
  verdict.plain95 = {-0.10, -0.04, 0.95};
  verdict.summaries.resize(3);
  verdict.summaries[0].arm = "B";
  verdict.summaries[1] = {"A", 4};
  verdict.summaries[1].mean = 1;  // of one pass
  verdict.summaries[2].arm = "A";
  verdict.summaries[2].mean = 2e6;
  return verdict;
}

TEST(Captures, OfTheLastPassThatWasNotSupersededCount) {
  RunRecord run = declared();
  EXPECT_TRUE(counted_captures(run).empty());
  add_captures(run, {captured("A", "w")}, 50, true);
  EXPECT_TRUE(counted_captures(run).empty());
  add_captures(run, {captured("A", "w"), captured("B", "w")}, 60);
  const auto counted = counted_captures(run);
  ASSERT_EQ(counted.size(), 2U);
  EXPECT_EQ(counted[0]->worker, 61);
  EXPECT_EQ(counted[1]->arm, "B");
}

TEST(BreakEven, IsWhatCaptureInstantiateAndUploadTookByWhatARequestSaves) {
  RunRecord run = declared();
  add_captures(run, {eager("A", "w"), captured("B", "w")});
  const auto found = break_even(run, faster_b());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->arm, "B");
  EXPECT_DOUBLE_EQ(found->cost_ns, 3.6e6);  // 2 + 1 + 0.6 ms
  EXPECT_DOUBLE_EQ(found->requests, 36);
  EXPECT_DOUBLE_EQ(found->fewest, 18);
  EXPECT_DOUBLE_EQ(found->most, 45);
}

TEST(BreakEven, HoldsForABaselineThatCapturesToo) {
  RunRecord run = declared();
  add_captures(run, {captured("A", "w"), eager("B", "w")});
  record::Verdict verdict = faster_b();
  EXPECT_FALSE(break_even(run, verdict));  // the eager arm is the faster one
  verdict.effect = 0.05;
  verdict.plain95 = {0.04, 0.10, 0.95};
  const auto found = break_even(run, verdict);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->arm, "A");
  EXPECT_DOUBLE_EQ(found->requests, 36);
  EXPECT_DOUBLE_EQ(found->most, 45);
}

TEST(BreakEven, IsLeftOutWhereTheRunDoesNotHoldWhatItTakes) {
  const auto of = [](std::vector<record::GraphCapture> captures, const record::Verdict& verdict) {
    RunRecord run = declared();
    add_captures(run, std::move(captures));
    return break_even(run, verdict).has_value();
  };
  EXPECT_FALSE(of({captured("A", "w"), captured("B", "w")}, faster_b()));
  EXPECT_FALSE(of({eager("A", "w"), eager("B", "w")}, faster_b()));
  EXPECT_FALSE(of({captured("B", "w")}, faster_b()));  // A did not answer
  EXPECT_FALSE(of({eager("A", "w"), captured("B", "other")}, faster_b()));
  record::GraphCapture no_upload = captured("B", "w");
  no_upload.costs.upload_ns.reset();
  EXPECT_FALSE(of({eager("A", "w"), no_upload}, faster_b()));
  record::GraphCapture second = captured("B", "w");
  second.costs.shape = "[9,128]";
  EXPECT_FALSE(of({eager("A", "w"), captured("B", "w"), second}, faster_b()));
  record::Verdict open = faster_b();
  open.plain95 = {-0.10, 0.01, 0.95};
  EXPECT_FALSE(of({eager("A", "w"), captured("B", "w")}, open));
  record::Verdict unknown = faster_b();
  unknown.plain95 = {};
  EXPECT_FALSE(of({eager("A", "w"), captured("B", "w")}, unknown));
  record::Verdict other = faster_b();
  other.metric = "items_per_s";
  EXPECT_FALSE(of({eager("A", "w"), captured("B", "w")}, other));
}

}  // namespace
}  // namespace abba::stats
