#include "harness/trace/trace_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/error.h"
#include "engine/base/temporary_folder.h"
#include "tests/unit/trace/trace_bytes.h"

namespace abba::trace {
namespace {

using testing::TraceBytes;

TraceFile parse(const TraceBytes& bytes) {
  return parse_trace(bytes.bytes, "f.trace");
}

std::string refusal(const std::string& bytes) {
  try {
    parse_trace(bytes, "f.trace");
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(TraceFile, HoldsEveryKindOfRecordOnTheSteadyClock) {
  TraceBytes bytes;
  bytes.info(kInfoStatus, "ok").info(kInfoMode, "made up").clock(1000, 10).name(1, "k");
  KernelRecord kernel = {1200, 1300, 77, 1, 2, 3, 4, 5, {6, 7, 8}, {9, 10, 11}, 12, 13, 14};
  bytes.add(RecordType::kKernel, kernel);
  bytes.name(2, "host-to-device").name(3, "cudaLaunchKernel").name(4, "layer");
  bytes.add(RecordType::kCopy, CopyRecord{1100, 1150, 4096, 2, 1, 7, 21});
  bytes.add(RecordType::kApi, ApiRecord{1010, 1020, 3, 99, 4, 0});
  bytes.marker(5, MarkerPhase::kBegin, 1005, 4).marker(5, MarkerPhase::kEnd, 1500);
  bytes.end();
  const TraceFile file = parse(bytes);
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(lack_of(file), "");
  EXPECT_EQ(file.info.at(kInfoMode), "made up");
  ASSERT_EQ(file.records.kernels.size(), 1U);
  const record::TraceKernel& k = file.records.kernels.front();
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.start_ns, 210);  // 1200 - 1000 + 10
  EXPECT_EQ(k.end_ns, 310);
  EXPECT_EQ(k.graph_node, 77);
  EXPECT_EQ((std::array{k.device, k.stream, k.correlation}),
            (std::array<std::int64_t, 3>{2, 3, 4}));
  EXPECT_EQ(k.grid, (std::array<std::int64_t, 3>{6, 7, 8}));
  EXPECT_EQ(k.block, (std::array<std::int64_t, 3>{9, 10, 11}));
  EXPECT_EQ((std::array{k.registers, k.static_shared_bytes, k.dynamic_shared_bytes}),
            (std::array<std::int64_t, 3>{12, 13, 14}));
  ASSERT_EQ(file.records.copies.size(), 1U);
  EXPECT_EQ(file.records.copies.front().kind, "host-to-device");
  EXPECT_EQ(file.records.copies.front().bytes, 4096);
  EXPECT_EQ(file.records.copies.front().start_ns, 110);
  ASSERT_EQ(file.records.calls.size(), 1U);
  EXPECT_EQ(file.records.calls.front().name, "cudaLaunchKernel");
  EXPECT_EQ(file.records.calls.front().thread, 99);
  ASSERT_EQ(file.records.ranges.size(), 1U);
  EXPECT_EQ(file.records.ranges.front().name, "layer");
  EXPECT_EQ(file.records.ranges.front().start_ns, 15);
  EXPECT_EQ(file.records.ranges.front().end_ns, 510);
}

TEST(TraceFile, ATimeLiesOnTheLineBetweenTheNearestPairs) {
  const std::vector<ClockRecord> clock = {{1000, 100}, {2000, 1100}, {4000, 3000}};
  EXPECT_EQ(to_steady(clock, 500), -400);   // before the first: as far before it
  EXPECT_EQ(to_steady(clock, 1500), 600);   // slope 1
  EXPECT_EQ(to_steady(clock, 3000), 2050);  // slope 0.95
  EXPECT_EQ(to_steady(clock, 4010), 3010);  // after the last
  EXPECT_EQ(to_steady({}, 77), 77);
  // Some decades since 1970: a double does not hold them, a difference does.
  const std::int64_t epoch = 1'800'000'000'000'000'001;
  EXPECT_EQ(to_steady({{epoch, 5}, {epoch + 1000, 1005}}, epoch + 333), 338);
}

TEST(TraceFile, RowsComeInOrderOfStartTheEnclosingFirst) {
  TraceBytes bytes;
  bytes.name(1, "late").name(2, "outer").name(3, "inner");
  bytes.marker(1, MarkerPhase::kEnd, 900);  // ends may stand before their begins
  bytes.marker(3, MarkerPhase::kBegin, 100, 3).marker(3, MarkerPhase::kEnd, 200);
  bytes.marker(1, MarkerPhase::kBegin, 100, 2).marker(4, MarkerPhase::kBegin, 50, 1);  // never ends
  bytes.kernel(1, 70, 80).kernel(1, 30, 90).end();
  const TraceFile file = parse(bytes);
  ASSERT_EQ(file.records.ranges.size(), 2U);
  EXPECT_EQ(file.records.ranges[0].name, "outer");
  EXPECT_EQ(file.records.ranges[1].name, "inner");
  EXPECT_EQ(file.records.kernels[0].start_ns, 30);
}

TEST(TraceFile, OneThatWasCutOffIsReadUpToThere) {
  TraceBytes whole;
  whole.name(1, "k").kernel(1, 10, 20).kernel(1, 30, 40);
  const std::size_t all = whole.bytes.size();
  for (std::size_t cut = 1; cut <= sizeof(RecordHeader) + sizeof(KernelRecord); ++cut) {
    const TraceFile file = parse_trace(std::string_view(whole.bytes).substr(0, all - cut), "f");
    EXPECT_EQ(file.records.kernels.size(), 1U) << cut;
    EXPECT_FALSE(file.complete);
    EXPECT_NE(lack_of(file).find("ended before"), std::string::npos);
  }
}

TEST(TraceFile, WhatItLacksIsSaid) {
  TraceBytes bytes;
  bytes.info(kInfoStatus, "ok").info(kInfoLacking, "no ranges: denied").end({3, 2, 1});
  EXPECT_EQ(lack_of(parse(bytes)),
            "no ranges: denied; 3 records were dropped for want of a buffer; 2 records were left "
            "out for want of space in the tracer's file; 1 records had no valid time");
  TraceBytes failed;
  failed.info(kInfoStatus, "ok").info(kInfoStatus, "CUPTI cannot be loaded").end();
  EXPECT_EQ(lack_of(parse(failed)), "CUPTI cannot be loaded");
}

TEST(TraceFile, AnythingElseIsOneSentence) {
  EXPECT_EQ(refusal(""), "f.trace: is no trace: it does not begin as one");
  EXPECT_EQ(refusal(std::string(100, 'x')), "f.trace: is no trace: it does not begin as one");
  EXPECT_NE(refusal(TraceBytes(2).bytes).find("is a trace of version 2"), std::string::npos);
  EXPECT_NE(refusal(TraceBytes().raw(4, "short").bytes).find("a record of 5 bytes where 80"),
            std::string::npos);
  EXPECT_NE(refusal(TraceBytes().kernel(8, 1, 2).bytes).find("uses the name 8"), std::string::npos);
  EXPECT_NE(refusal(TraceBytes().end().name(1, "k").bytes).find("goes on after its last"),
            std::string::npos);
  EXPECT_NE(refusal(TraceBytes().clock(-5, 0).bytes).find("a time that is none"),
            std::string::npos);
  EXPECT_NE(refusal(TraceBytes().raw(1, "ab").bytes).find("a fact of 2 bytes"), std::string::npos);
  EXPECT_NE(refusal(TraceBytes().raw(3, "").bytes).find("a name of 0 bytes"), std::string::npos);
}

TEST(TraceFile, RecordsWithoutATimeAreCountedAndUnknownKindsSkipped) {
  TraceBytes bytes;
  bytes.name(1, "k").kernel(1, 20, 10).kernel(1, 1, ~std::uint64_t{0}).kernel(1, 5, 6);
  bytes.raw(99, "of a later tracer").end({0, 0, 4});
  const TraceFile file = parse(bytes);
  EXPECT_EQ(file.records.kernels.size(), 1U);
  EXPECT_EQ(file.end.strange, 6U);
}

TEST(TraceFile, NamesAreCleanAndBounded) {
  TraceBytes bytes;
  bytes.name(1, std::string("a\n\xff") + std::string(2000, 'b')).kernel(1, 1, 2).end();
  const std::string name = parse(bytes).records.kernels.front().name;
  EXPECT_EQ(name.substr(0, 5), "a \xEF\xBF\xBD");
  EXPECT_LE(name.size(), kTraceNameBytes + 2U);
}

TEST(TraceFile, ReadsAFileAndNamesOneThatIsNotThere) {
  const base::TemporaryFolder folder;
  const std::string path = folder.file("t.trace");
  std::ofstream(path, std::ios::binary) << TraceBytes().end().bytes;
  EXPECT_TRUE(read_trace_file(path).complete);
  EXPECT_THROW(read_trace_file(folder.file("none")), base::Error);
}

}  // namespace
}  // namespace abba::trace
