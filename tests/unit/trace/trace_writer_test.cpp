#include "harness/trace/collect/trace_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/base/temporary_folder.h"
#include "harness/trace/trace_file.h"

namespace abba::trace {
namespace {

TEST(TraceWriter, WritesANameOnceAndCutsIt) {
  const base::TemporaryFolder folder;
  TraceWriter writer(folder.file("t"));
  EXPECT_EQ(writer.name("a"), 1U);
  EXPECT_EQ(writer.name("b"), 2U);
  EXPECT_EQ(writer.name("a"), 1U);
  EXPECT_EQ(writer.name(std::string(600, 'x')), writer.name(std::string(512, 'x')));
  writer.end({});
  EXPECT_TRUE(read_trace_file(folder.file("t")).complete);
}

TEST(TraceWriter, NeverMakesAFileLargerThanItsBound) {
  const base::TemporaryFolder folder;
  TraceWriter writer(folder.file("t"), 1000);
  const std::uint32_t name = writer.name("call");
  for (std::uint32_t i = 0; i < 100; ++i) {
    writer.api({i + 1, i + 2, name, 1, i, 0});
  }
  writer.end({0, 0, 0});
  const TraceFile file = read_trace_file(folder.file("t"));
  EXPECT_TRUE(file.complete);  // the last record is written whatever the bound
  EXPECT_EQ(file.records.calls.size(), (1000 - 16 - 8 - 8) / 40U);
  EXPECT_EQ(file.end.cut, 100 - file.records.calls.size());
  EXPECT_LE(std::filesystem::file_size(folder.file("t")), 1000 + 32U);
}

TEST(TraceWriter, DoesNotWriteIntoAnothersFile) {
  const base::TemporaryFolder folder;
  TraceWriter first(folder.file("t"));
  const TraceWriter second(folder.file("t"));
  EXPECT_NE(second.failure().find("cannot be made: File exists"), std::string::npos);
  first.end({});
  EXPECT_EQ(first.failure(), "");
  EXPECT_TRUE(read_trace_file(folder.file("t")).complete);
}

TEST(TraceWriter, AFullDiskIsASentenceAndNoMore) {
  TraceWriter writer("/dev/full/none");
  EXPECT_NE(writer.failure().find("/dev/full/none"), std::string::npos);
  writer.api({1, 2, writer.name("x"), 0, 0, 0});
  writer.end({});  // nothing to write to: nothing happens
}

TEST(TraceWriter, WhatWasFlushedIsThereBeforeTheEnd) {
  const base::TemporaryFolder folder;
  TraceWriter writer(folder.file("t"));
  writer.api({1, 2, writer.name("x"), 0, 0, 0});
  writer.flush();
  const TraceFile file = read_trace_file(folder.file("t"));
  EXPECT_FALSE(file.complete);
  EXPECT_EQ(file.records.calls.size(), 1U);
}

}  // namespace
}  // namespace abba::trace
