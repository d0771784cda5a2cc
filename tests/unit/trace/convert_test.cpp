#include "harness/trace/collect/convert.h"

#include <gtest/gtest.h>

#include "engine/base/temporary_folder.h"
#include "harness/trace/trace_file.h"
#include "tests/unit/trace/fake_cupti.h"

namespace abba::trace {
namespace {

using testing::kernel_record;

class ConvertTest : public ::testing::Test {
 protected:
  template <typename Record>
  void add(const Record& record) {
    converter_.add(reinterpret_cast<const CUpti_Activity&>(record));
  }
  TraceFile read() {
    writer_.end({0, 0, converter_.strange()});
    return read_trace_file(path_);
  }

  base::TemporaryFolder folder_;
  std::string path_ = folder_.file("t.trace");
  testing::FakeCupti fake_;
  CuptiApi api_ = testing::api_of(fake_);
  TraceWriter writer_{path_};
  Converter converter_{api_, writer_};
};

TEST_F(ConvertTest, AKernelWithItsGraphNodeGridAndMemory) {
  CUpti_ActivityKernel10 record = kernel_record("_Z3addPKfi", 1000, 1500);
  record.deviceId = 1;
  record.streamId = 7;
  record.correlationId = 42;
  record.graphNodeId = 0x1'0000'0003;
  record.graphId = 5;
  record.gridX = 64;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 200'000;
  add(record);
  const TraceFile file = read();
  ASSERT_EQ(file.records.kernels.size(), 1U);
  const record::TraceKernel& k = file.records.kernels.front();
  EXPECT_EQ(k.name, "add(float const*, int)");
  EXPECT_EQ(k.start_ns, 1000);
  EXPECT_EQ(k.end_ns, 1500);
  EXPECT_EQ(k.device, 1);
  EXPECT_EQ(k.stream, 7);
  EXPECT_EQ(k.correlation, 42);
  EXPECT_EQ(k.graph_node, 0x1'0000'0003);
  EXPECT_EQ(k.grid, (std::array<std::int64_t, 3>{64, 2, 1}));
  EXPECT_EQ(k.block, (std::array<std::int64_t, 3>{128, 1, 1}));
  EXPECT_EQ(k.registers, 40);
  EXPECT_EQ(k.static_shared_bytes, 1024);
  EXPECT_EQ(k.dynamic_shared_bytes, 200'000);
}

TEST_F(ConvertTest, CopiesAndMemorySets) {
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.bytes = 77;
  copy.start = 10;
  copy.end = 20;
  copy.correlationId = 3;
  copy.streamId = 9;
  add(copy);
  CUpti_ActivityMemset4 set = {};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 88;
  set.start = 30;
  set.end = 35;
  add(set);
  const auto copies = read().records.copies;
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].kind, "device-to-host");
  EXPECT_EQ(copies[0].bytes, 77);
  EXPECT_EQ(copies[0].correlation, 3);
  EXPECT_EQ(copies[0].stream, 9);
  EXPECT_EQ(copies[1].kind, "set");
  EXPECT_EQ(copies[1].bytes, 88);
}

TEST_F(ConvertTest, CallsOfRuntimeAndDriverByName) {
  CUpti_ActivityAPI call = {};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  call.start = 10;
  call.end = 20;
  call.threadId = 4242;
  call.correlationId = 6;
  add(call);
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.start = 11;
  add(call);
  call.cbid = 0;  // one that CUPTI has no name for
  call.start = 12;
  add(call);
  const auto calls = read().records.calls;
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(calls[0].thread, 4242);
  EXPECT_EQ(calls[0].correlation, 6);
  EXPECT_EQ(calls[1].name, "cuLaunchKernel");
  EXPECT_EQ(calls[2].name, "call 0");
}

TEST_F(ConvertTest, MarkersOfARangeAndNoOthers) {
  CUpti_ActivityMarker2 marker = {};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.timestamp = 100;
  marker.id = 8;
  marker.objectId.pt.threadId = 55;
  marker.name = "layer";
  add(marker);
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS;
  marker.id = 9;
  add(marker);
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  marker.id = 8;
  marker.timestamp = 300;
  marker.name = nullptr;
  add(marker);
  const auto ranges = read().records.ranges;
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].name, "layer");
  EXPECT_EQ(ranges[0].thread, 55);
  EXPECT_EQ(ranges[0].start_ns, 100);
  EXPECT_EQ(ranges[0].end_ns, 300);
}

TEST_F(ConvertTest, RecordsWithoutAValidTimeAreCountedAndOtherKindsIgnored) {
  add(kernel_record("k", 0, 10));
  add(kernel_record("k", 20, 10));
  add(kernel_record(nullptr, 20, 30));
  CUpti_ActivityOverhead3 overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  add(overhead);
  const TraceFile file = read();
  EXPECT_EQ(file.end.strange, 2U);
  ASSERT_EQ(file.records.kernels.size(), 1U);
  EXPECT_EQ(file.records.kernels.front().name, "unnamed");
}

}  // namespace
}  // namespace abba::trace
