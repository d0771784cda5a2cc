#include "harness/trace/summary.h"

#include <gtest/gtest.h>

#include "engine/base/json.h"
#include "harness/trace/perfetto.h"

namespace abba::trace {
namespace {

record::TraceKernel kernel(const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
                           std::int64_t correlation = 0) {
  record::TraceKernel kernel;
  kernel.name = name;
  kernel.start_ns = start_ns;
  kernel.end_ns = end_ns;
  kernel.correlation = correlation;
  return kernel;
}

record::TraceCopy copy(std::int64_t start_ns, std::int64_t end_ns) {
  return {"set", 0, 1, 0, 64, start_ns, end_ns};
}

TEST(Summary, ARequestIsBusyTimeAndIdleTime) {
  record::Trace trace;
  trace.kernels = {kernel("a", 110, 150), kernel("b", 140, 160), kernel("a", 180, 195)};
  trace.copies = {copy(102, 105)};
  const Summary summary = summarize(trace, {{100, 200}});
  ASSERT_EQ(summary.requests.size(), 1U);
  const Closure& request = summary.requests.front();
  EXPECT_EQ(request.wall, 100);
  EXPECT_EQ(request.launches, 3);
  EXPECT_EQ(request.kernels, 40 + 20 + 15);
  EXPECT_EQ(request.copies, 3);
  EXPECT_EQ(request.busy, 3 + 50 + 15);
  EXPECT_EQ(request.overlapped, 10);
  EXPECT_EQ(request.before, 2);
  EXPECT_EQ(request.between, 5 + 20);
  EXPECT_EQ(request.after, 5);
  EXPECT_EQ(request.wall, request.busy + request.gaps());
}

TEST(Summary, WhatAKernelDoesBeforeOrAfterItsRequestIsNotOfIt) {
  record::Trace trace;
  trace.kernels = {kernel("a", 90, 130), kernel("b", 180, 210)};
  const Closure request = summarize(trace, {{100, 200}}).requests.front();
  EXPECT_EQ(request.busy, 50);
  EXPECT_EQ(request.before, 0);
  EXPECT_EQ(request.between, 50);
  EXPECT_EQ(request.after, 0);
}

TEST(Summary, ARequestWithoutAKernelIsIdle) {
  const Closure request = summarize({}, {{100, 200}}).requests.front();
  EXPECT_EQ(request.before, 100);
  EXPECT_EQ(request.gaps(), request.wall);
  EXPECT_EQ(request.launches, 0);
}

TEST(Summary, TheTypicalRequestHasTheMedianOfEachFigure) {
  record::Trace trace;
  trace.kernels = {kernel("a", 10, 20), kernel("a", 110, 140), kernel("a", 210, 230)};
  const Summary summary = summarize(trace, {{0, 100}, {100, 200}, {200, 300}});
  EXPECT_EQ(summary.typical.kernels, 20);
  EXPECT_EQ(summary.typical.launches, 1);
}

TEST(Summary, KernelsAreCountedByNameMostTimeFirst) {
  record::Trace trace;
  trace.kernels = {kernel("a", 0, 10), kernel("b", 10, 70), kernel("a", 70, 100)};
  const Summary summary = summarize(trace, {{0, 100}});
  ASSERT_EQ(summary.kernels.size(), 2U);
  EXPECT_EQ(summary.kernels[0].name, "b");
  const KernelRow& a = summary.kernels[1];
  EXPECT_EQ(a.count, 2);
  EXPECT_EQ(a.total_ns, 40);
  EXPECT_EQ(a.mean_ns(), 20);
  EXPECT_EQ(a.min_ns, 10);
  EXPECT_EQ(a.max_ns, 30);
  EXPECT_DOUBLE_EQ(a.share, 0.4);
}

// Two threads with ranges of one name; the launch of correlation 3 is in no range of its thread.
TEST(Summary, AKernelIsOfTheInnermostRangeAroundItsLaunch) {
  record::Trace trace;
  trace.ranges = {{"request", 1, 0, 100},
                  {"layer", 1, 10, 40},
                  {"layer", 2, 20, 90},
                  {"layer", 1, 50, 80},
                  {"op", 1, 55, 60}};
  trace.calls = {{"launch", 1, 1, 12, 13},
                 {"launch", 2, 3, 15, 16},
                 {"launch", 2, 4, 30, 31},
                 {"launch", 1, 2, 57, 58},
                 {"launch", 1, 5, 95, 96}};
  // They run much later than they were launched, the graph's two under one correlation.
  trace.kernels = {kernel("k", 200, 210, 1), kernel("k", 210, 220, 2), kernel("k", 220, 240, 2),
                   kernel("k", 240, 270, 3), kernel("k", 270, 310, 4), kernel("k", 310, 315, 5),
                   kernel("k", 315, 316, 99)};
  const auto rows = summarize(trace, {{0, 400}}).ranges;
  ASSERT_EQ(rows.size(), 5U);
  const auto expect = [&](std::size_t i, const char* name, std::size_t depth, std::int64_t count,
                          std::int64_t launches, double kernel_ns) {
    EXPECT_EQ(rows[i].name, name) << i;
    EXPECT_EQ(rows[i].depth, depth) << i;
    EXPECT_EQ(rows[i].count, count) << i;
    EXPECT_EQ(rows[i].launches, launches) << i;
    EXPECT_EQ(rows[i].kernel_ns, kernel_ns) << i;
  };
  expect(0, "request", 0, 1, 4, 10 + 30 + 5);
  expect(1, "layer", 1, 2, 3, 10 + 30);
  expect(2, "op", 2, 1, 2, 30);
  expect(3, "layer", 0, 1, 1, 40);
  expect(4, "", 0, 0, 2, 30 + 1);
}

TEST(Summary, RangesThatOverlapHaveNoCommonParent) {
  record::Trace trace;
  trace.ranges = {{"x", 1, 0, 50}, {"y", 1, 30, 80}};
  const auto rows = summarize(trace, {{0, 100}}).ranges;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].depth, 0U);
}

TEST(Summary, TheDifferenceIsARequestAndTheLargestFirst) {
  record::Trace a;
  a.kernels = {kernel("same", 0, 10), kernel("gone", 10, 15), kernel("same", 100, 110),
               kernel("gone", 110, 115), kernel("slow", 120, 160)};
  record::Trace b;
  b.kernels = {kernel("same", 0, 10), kernel("new", 10, 11), kernel("slow", 20, 30)};
  const auto rows = difference(summarize(a, {{0, 100}, {100, 200}}), summarize(b, {{0, 100}}));
  ASSERT_EQ(rows.size(), 3U);  // "same" is the same
  EXPECT_EQ(rows[0].name, "slow");
  EXPECT_EQ(rows[0].count_a, 0.5);
  EXPECT_EQ(rows[0].count_b, 1);
  EXPECT_EQ(rows[0].delta_ns(), 10 - 20);
  EXPECT_EQ(rows[1].name, "gone");
  EXPECT_EQ(rows[1].delta_ns(), -5);
  EXPECT_EQ(rows[2].name, "new");
  EXPECT_EQ(rows[2].count_a, 0);
}

TEST(Summary, AShortNameHasNoParametersAndNoReturnType) {
  EXPECT_EQ(short_name("void ns::k<float, 4>(float const*, int)"), "ns::k<float, 4>");
  EXPECT_EQ(short_name("k(int)"), "k");
  EXPECT_EQ(short_name("void (anonymous namespace)::k<(anonymous namespace)::P<2> >(P)"),
            "(anonymous namespace)::k<(anonymous namespace)::P<2> >");
  EXPECT_EQ(short_name("void f<(Kind)1>(int)"), "f<(Kind)1>");
  EXPECT_EQ(short_name("nvjet_hsh_64x8"), "nvjet_hsh_64x8");
  EXPECT_EQ(short_name(""), "");
}

TEST(Perfetto, HasRowsOfRequestsThreadsAndStreams) {
  record::Trace trace;
  trace.kernels = {kernel("k\"1", 2'000, 3'500, 4)};
  trace.calls = {{"launch", 77, 4, 1'500, 1'600}};
  trace.ranges = {{"op", 77, 1'000, 2'000}};
  const std::string text = perfetto_json({{"A w", trace, {{1'000, 5'000}}}});
  const base::Json json = base::parse_json(text, "perfetto");
  std::string seen;
  for (const base::Json& event : json.at("traceEvents").as_array()) {
    seen += event.get_string("name", "") + " ";
  }
  EXPECT_EQ(seen, "process_name thread_name request 1 thread_name op launch thread_name k\"1 ");
  EXPECT_NE(text.find(R"("ts":1.000,"dur":1.500,"name":"k\"1")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("args":{"name":"device 0, stream 0"})"), std::string::npos);
}

}  // namespace
}  // namespace abba::trace
