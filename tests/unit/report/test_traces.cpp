// The section on traces, and what `abba trace` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/json.h"
#include "harness/report/report.h"
#include "harness/report/traces.h"
#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const record::RunRecord& run) {
  return markdown(run, stats::analyze(run), {});
}

// One request of 100 microseconds; kernel number i takes i + 1 of them.
record::Slot traced_slot(const std::string& arm, std::int64_t id, int kernels) {
  record::Slot slot;
  slot.id = id;
  slot.arm = arm;
  slot.samples = {{0, false, 1000, 100'000, record::SampleStatus::kOk}};
  std::int64_t at = 2000;
  for (int i = 0; i < kernels; ++i) {
    record::TraceKernel kernel;
    kernel.name =
        "void k" + std::to_string(i) + "<" + std::string(i == 0 ? 200 : 1, 'x') + ">(int)";
    kernel.start_ns = at;
    kernel.end_ns = at + 1000 * (i + 1);
    kernel.correlation = i;
    at = kernel.end_ns;
    slot.trace.kernels.push_back(kernel);
    slot.trace.calls.push_back({"cudaLaunchKernel", 7, i, 1500 + i, 1501 + i});
  }
  slot.trace.ranges = {{"layer", 7, 1200, 90'000}};
  return slot;
}

record::RunRecord traced_run() {
  record::RunRecord run = synthetic::Maker(synthetic::Spec()).run();
  run.manifest.traces = base::Json::object();
  record::Pass& pass = run.passes.emplace_back();
  pass.phase = record::Phase::kTrace;
  std::int64_t id = 90'000;
  for (const auto& [arm, kernels] : {std::pair("A", 14), std::pair("B", 13)}) {
    record::Block& block = pass.blocks.emplace_back();
    block.phase = pass.phase;
    block.workload = run.manifest.workloads.front().id;
    block.slots.push_back(traced_slot(arm, ++id, kernels));
    run.environment.push_back({id, 0, "after", record::kTraceStatus, 0, "", "complete"});
    run.environment.push_back({id, 0, "after", record::kTraceMode, 0, "", "graphs by node"});
    run.environment.push_back({id, 0, "after", record::kTraceCupti, 130001, "version", ""});
    run.environment.push_back({id, 0, "after", record::kTraceRequests, 1, "requests", ""});
  }
  run.bindings.push_back({"device/driver", "580.1"});
  return run;
}

TEST(TracesSection, IsThereWhereTracesWereAskedForAndSaysIfThereAreNone) {
  record::RunRecord run = traced_run();
  run.passes.pop_back();
  EXPECT_THAT(page_of(run), HasSubstr("## Traces\n\nNone was recorded; the notes say why."));
  run.manifest.traces = base::Json();
  EXPECT_THAT(page_of(run), Not(HasSubstr("## Traces")));
}

TEST(TracesSection, HasLaunchesSharesTheRatioAndHowItWasTraced) {
  const std::string page = page_of(traced_run());
  EXPECT_THAT(page, HasSubstr("complete (graphs by node), CUPTI 130001; 0 records dropped"));
  EXPECT_THAT(page, HasSubstr("driver 580.1"));
  EXPECT_THAT(page, HasSubstr("| small | A | 1 | "));
  EXPECT_THAT(page, HasSubstr("| 14 |  | 105.0 µs |"));  // launches, none declared, kernel time
  EXPECT_THAT(page,
              HasSubstr("| `k13<x>` | 1 | 14.00 µs | 14.00 µs | 14.00 µs | 14.00 µs | 13.3 % |"));
  EXPECT_THAT(page, HasSubstr("| 2 others | 2 | 1.500 µs |  |  | 3.000 µs | 2.9 % |"));
  EXPECT_THAT(page, HasSubstr("| layer | 1 | 88.80 µs | 14 | 105.0 µs |"));
  EXPECT_THAT(page, HasSubstr("| `k13<x>` | 1 | 0 | 14.00 µs | 0 ns | −14.00 µs |"));
}

TEST(TracesCommand, PrintsEveryKernelAndCutsLongNames) {
  const record::RunRecord run = traced_run();
  const std::string text = traces_markdown(run, trace::traced_slots(run));
  EXPECT_THAT(text, Not(HasSubstr("others")));
  EXPECT_THAT(text, HasSubstr("`k0<" + std::string(87, 'x') + "…`"));
  EXPECT_THAT(text, HasSubstr("| `cudaLaunchKernel` | 14 | 14.00 ns |"));
}

TEST(TracesCommand, GivesProgramsWholeNamesAndTotals) {
  const record::RunRecord run = traced_run();
  const auto json = base::parse_json(traces_json(run, trace::traced_slots(run)), "json");
  EXPECT_EQ(json.get_string("schema", ""), "abba.trace/1");
  const base::Json& slot = json.at("slots").as_array().front();
  EXPECT_EQ(slot.at("kernels").as_array().back().get_string("name", "").size(), 5 + 2 + 202 + 5U);
  EXPECT_EQ(slot.at("typical_request").get_int("launches", ""), 14);
  EXPECT_TRUE(slot.at("declared_launches").is_null());
}

}  // namespace
}  // namespace abba::report
