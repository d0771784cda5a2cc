#include "engine/runtime/span_log.h"

#include <gtest/gtest.h>

namespace abba::runtime {
namespace {

std::int64_t fake_now = 0;
std::int64_t fake_clock() {
  return fake_now += 10;
}

TEST(SpanLog, NestsByScopeAndTakesTheCallersClock) {
  fake_now = 0;
  SpanLog log(fake_clock);
  {
    const ScopedSpan outer(&log, "outer");
    { const ScopedSpan first(&log, "first"); }
    const ScopedSpan second(&log, "second");
  }
  ASSERT_EQ(log.records().size(), 3U);
  EXPECT_STREQ(log.records()[1].name, "first");
  EXPECT_EQ(log.records()[0].parent, -1);
  EXPECT_EQ(log.records()[1].parent, 0);
  EXPECT_EQ(log.records()[2].parent, 0);
  EXPECT_EQ(log.records()[1].start_ns, 20);
  EXPECT_EQ(log.records()[1].end_ns, 30);
  EXPECT_EQ(log.records()[0].end_ns, 60);
}

TEST(SpanLog, WhatDoesNotFitIsCountedAndTheRestStaysRight) {
  SpanLog log(fake_clock, 2);
  {
    const ScopedSpan outer(&log, "outer");
    { const ScopedSpan kept(&log, "kept"); }
    { const ScopedSpan lost(&log, "lost"); }
  }
  EXPECT_EQ(log.records().size(), 2U);
  EXPECT_EQ(log.dropped(), 1U);
  EXPECT_GT(log.records()[0].end_ns, log.records()[1].end_ns);
  log.clear();
  EXPECT_TRUE(log.records().empty());
  EXPECT_EQ(log.dropped(), 0U);
}

TEST(SpanLog, NoLogRecordsNothing) {
  const std::int64_t before = fake_now;
  { const ScopedSpan span(nullptr, "span"); }
  EXPECT_EQ(fake_now, before);
}

}  // namespace
}  // namespace abba::runtime
