#include "harness/trace/traced_run.h"

#include <gtest/gtest.h>

namespace abba::trace {
namespace {

using record::Phase;

record::Slot slot(std::int64_t id, const std::string& arm, std::vector<std::int64_t> durations) {
  record::Slot slot;
  slot.id = id;
  slot.arm = arm;
  std::int64_t seq = 0;
  for (const std::int64_t ns : durations) {
    slot.samples.push_back({seq, seq == 0, 1000 * seq, ns, record::SampleStatus::kOk});
    ++seq;
  }
  return slot;
}

record::Pass pass(Phase phase, const std::string& workload, record::Slot slot) {
  record::Pass pass;
  pass.phase = phase;
  record::Block& block = pass.blocks.emplace_back();
  block.phase = phase;
  block.workload = workload;
  block.slots.push_back(std::move(slot));
  return pass;
}

record::RunRecord traced_run() {
  record::RunRecord run;
  run.manifest.workloads.resize(2);
  run.manifest.workloads[0].id = "z";
  run.manifest.workloads[1].id = "a";
  run.passes = {pass(Phase::kFeasibility, "z", slot(1, "A", {9, 900, 900})),
                pass(Phase::kMeasured, "z", slot(2, "A", {9, 100, 200})),
                pass(Phase::kMeasured, "z", slot(3, "A", {9, 300})),
                pass(Phase::kMeasured, "z", slot(4, "A", {9, 7})),  // superseded
                pass(Phase::kMeasured, "z", slot(5, "A", {9, 7})),  // failed
                pass(Phase::kTrace, "a", slot(6, "A", {9, 50})),
                pass(Phase::kTrace, "z", slot(7, "B", {9, 50})),
                pass(Phase::kTrace, "z", slot(8, "A", {9, 300, 500, 400})),
                pass(Phase::kTrace, "z", slot(9, "A", {9, 1}))};  // superseded
  run.passes[3].superseded = run.passes[8].superseded = true;
  run.passes[4].blocks.front().failed = true;
  run.prepared["A/z"].facts = base::Json::object({{"launches", 242}});
  run.environment = {{8, 0, "after", record::kTraceStatus, 0, "", "complete"},
                     {8, 0, "after", record::kTraceRequests, 2, "requests", ""},
                     {8, 0, "after", record::kTraceDropped, 3, "records", ""}};
  return run;
}

TEST(TracedRun, HoldsATraceAgainstWhatWasMeasuredOfItsArm) {
  const record::RunRecord run = traced_run();
  const auto slots = traced_slots(run);
  ASSERT_EQ(slots.size(), 3U);  // in the order of the declared workloads, then of the arms
  EXPECT_EQ(slots[0].slot->id, 8);
  EXPECT_EQ(slots[1].slot->id, 7);
  EXPECT_EQ(slots[2].slot->id, 6);
  const TracedSlot& z = slots[0];
  EXPECT_EQ(z.untraced_ns, 200);
  EXPECT_EQ(z.traced_ns, 400);
  EXPECT_DOUBLE_EQ(z.ratio(), 2);
  EXPECT_EQ(z.windows.size(), 2U);  // as many as have their rows
  EXPECT_EQ(z.declared_launches, 242);
  EXPECT_EQ(z.status, "complete");
  EXPECT_EQ(z.dropped, 3);
  EXPECT_EQ(slots[1].untraced_ns, 0);
  EXPECT_EQ(slots[1].ratio(), 0);
  EXPECT_EQ(slots[1].declared_launches, -1);
}

TEST(TracedRun, ChoosesByArmAndWorkload) {
  const record::RunRecord run = traced_run();
  EXPECT_EQ(traced_slots(run, {"A", ""}).size(), 2U);
  EXPECT_EQ(traced_slots(run, {"", "z"}).size(), 2U);
  EXPECT_EQ(traced_slots(run, {"B", "a"}).size(), 0U);
}

}  // namespace
}  // namespace abba::trace
