#include "harness/trace/requests.h"

#include <gtest/gtest.h>

namespace abba::trace {
namespace {

record::Slot slot_of(std::vector<record::Sample> samples) {
  record::Slot slot;
  slot.samples = std::move(samples);
  return slot;
}

record::TraceKernel kernel(std::int64_t start_ns, std::int64_t end_ns) {
  record::TraceKernel kernel;
  kernel.name = "k";
  kernel.start_ns = start_ns;
  kernel.end_ns = end_ns;
  return kernel;
}

TEST(Requests, AreTheMeasuredOnesThatWereAnswered) {
  using record::SampleStatus;
  const auto slot = slot_of({{0, true, 100, 50, SampleStatus::kOk},
                             {1, false, 200, 50, SampleStatus::kOk},
                             {2, false, 300, 50, SampleStatus::kFailed},
                             {3, false, 400, 50, SampleStatus::kOk},
                             {4, false, -5, 50, SampleStatus::kOk},
                             {5, false, 500, std::int64_t{1} << 62U, SampleStatus::kOk}});
  const auto windows = windows_of(slot, 9);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].start_ns, 200);
  EXPECT_EQ(windows[1].end_ns, 450);
  EXPECT_EQ(windows_of(slot, 1).size(), 1U);
}

TEST(Requests, ARecordIsOfTheOneThatHoldsItsMiddle) {
  const std::vector<Window> windows = {{100, 200}, {300, 400}};
  EXPECT_EQ(window_of(windows, 90, 130), 0U);
  EXPECT_EQ(window_of(windows, 190, 208), 0U);
  EXPECT_EQ(window_of(windows, 190, 214), 2U);
  EXPECT_EQ(window_of(windows, 0, 50), 2U);
  EXPECT_EQ(window_of(windows, 300, 300), 1U);
  EXPECT_EQ(window_of(windows, 500, 600), 2U);
}

TEST(Requests, KeepNothingOfLoadingAndWarmUps) {
  record::Trace all;
  all.kernels = {kernel(0, 10), kernel(110, 120), kernel(250, 260), kernel(310, 320)};
  const Kept kept = keep_requests(all, {{100, 200}, {300, 400}});
  EXPECT_EQ(kept.requests, 2U);
  ASSERT_EQ(kept.rows.kernels.size(), 2U);
  EXPECT_EQ(kept.rows.kernels[0].start_ns, 110);
  EXPECT_EQ(kept.rows.kernels[1].start_ns, 310);
  EXPECT_EQ(kept.cut, 0U);
}

TEST(Requests, BeyondTheBoundGoWhole) {
  record::Trace all;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) all.kernels.push_back(kernel(1000 * i + j, 1000 * i + j));
    all.calls.push_back({"c", 1, 1, 1000 * i, 1000 * i});
  }
  const std::vector<Window> windows = {{0, 500}, {1000, 1500}, {2000, 2500}};
  const Kept kept = keep_requests(all, windows, 14);
  EXPECT_EQ(kept.requests, 2U);
  EXPECT_EQ(kept.rows.kernels.size(), 8U);
  EXPECT_EQ(kept.rows.calls.size(), 2U);
  EXPECT_EQ(kept.cut, 5U);
  EXPECT_EQ(keep_requests(all, windows, 15).requests, 3U);
}

TEST(Requests, ARangeAroundSeveralIsOfNone) {
  record::Trace all;
  all.ranges = {
      {"slot", 1, 0, 1'000'000}, {"request", 1, 390'000, 610'000}, {"a", 1, 450'000, 460'000}};
  const Kept kept = keep_requests(all, {{400'000, 600'000}, {700'000, 900'000}});
  ASSERT_EQ(kept.rows.ranges.size(), 2U);
  EXPECT_EQ(kept.rows.ranges[0].name, "request");
}

}  // namespace
}  // namespace abba::trace
