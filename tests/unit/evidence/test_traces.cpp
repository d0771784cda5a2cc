#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/evidence/check_record.h"
#include "tests/unit/evidence/valid_run.h"

namespace abba::evidence {
namespace {

using ::testing::HasSubstr;
using testing::valid_run;

// A run whose plan ends with a trace pass of both arms on one workload.
record::RunRecord traced_run() {
  record::RunRecord run = valid_run();
  record::PlannedPass planned;
  planned.phase = record::Phase::kTrace;
  planned.start_order = "AB";
  planned.blocks = {{"w1", "AB", false}};
  run.plan.passes.push_back(planned);
  record::Pass pass;
  pass.id = 9000;
  pass.phase = planned.phase;
  pass.start_ns = 1;
  pass.end_ns = 2;
  std::int64_t id = pass.id;
  for (const char* arm : {"A", "B"}) {
    record::WorkerProcess worker;
    worker.id = ++id;
    worker.arm = arm;
    worker.pass = record::kLaterPass;
    run.workers.push_back(worker);
    record::Block& block = pass.blocks.emplace_back();
    block.id = ++id;
    block.phase = planned.phase;
    block.workload = "w1";
    block.slot_order = arm;
    record::Slot& slot = block.slots.emplace_back();
    slot.id = ++id;
    slot.arm = arm;
    slot.worker = worker.id;
    slot.start_ns = 5'000'000;
    slot.end_ns = 6'000'000;
    slot.trace.calls.push_back({"launch", 1, 1, 5'100'000, 5'200'000});
  }
  run.passes.push_back(pass);
  return run;
}

TEST(Traces, AreThoseOfThePlan) {
  EXPECT_EQ(check_counts(traced_run()), "");
  record::RunRecord run = traced_run();
  run.plan.passes.back().blocks.front().slot_order = "B";
  EXPECT_THAT(check_counts(run), HasSubstr("of workload w1 was not planned"));
  run = traced_run();
  run.passes.back().blocks.front().workload = "w2";
  EXPECT_THAT(check_counts(run), HasSubstr("of workload w2 was not planned"));
  run = traced_run();
  run.passes.back().blocks.push_back(run.passes.back().blocks.back());
  EXPECT_THAT(check_counts(run), HasSubstr("arm B stands twice"));
  run = traced_run();
  run.passes.back().blocks.front().slots.clear();
  EXPECT_THAT(check_counts(run), HasSubstr("was not planned"));
}

TEST(Traces, ComeFromWorkersOfTheirOwn) {
  record::RunRecord run = traced_run();
  run.workers.back().pass = 1;
  EXPECT_THAT(check_counts(run), HasSubstr("not started for the trace pass"));
  run = traced_run();
  run.passes[1].blocks[0].slots[0].worker = run.passes.back().blocks[0].slots[0].worker;
  EXPECT_THAT(check_counts(run), HasSubstr("in which requests were measured"));
}

TEST(Traces, HoldNothingFromOutsideOfTheirSlot) {
  record::RunRecord run = traced_run();
  run.passes.back().blocks[1].slots[0].trace.calls[0].end_ns = 8'000'000;
  EXPECT_THAT(check_counts(run), HasSubstr("a record from outside of its slot"));
}

TEST(Traces, AreNotMissingWithoutANoteThatSaysWhy) {
  record::RunRecord run = traced_run();
  run.passes.back().blocks.pop_back();
  EXPECT_THAT(check_counts(run), HasSubstr("the trace of arm B on workload w1 is missing"));
  for (const char* code : {"N073", "N074", "N075"}) {
    record::RunRecord noted = run;
    for (const char* where : {"trace pass 1, arm B", "w1, arm B", "arm B"}) {
      noted = run;
      noted.notes.push_back({code, record::Severity::kInfo, where, ""});
      EXPECT_EQ(check_counts(noted), "") << code << " " << where;
    }
    // Of another arm, workload or pass, or of nothing in particular.
    for (const char* where :
         {"trace pass 1, arm A", "w2, arm B", "graph_capture pass 1, arm B", ""}) {
      noted = run;
      noted.notes.push_back({code, record::Severity::kInfo, where, ""});
      EXPECT_THAT(check_counts(noted), HasSubstr("is missing")) << code << " " << where;
    }
  }
}

TEST(Traces, AreOfNoSlotThatCounts) {
  record::RunRecord run = valid_run();
  run.passes[1].blocks[0].slots[0].trace.calls.push_back({"launch", 1, 1, 5, 6});
  EXPECT_THAT(check_counts(run), HasSubstr("holds a trace; nothing traced counts"));
}

}  // namespace
}  // namespace abba::evidence
