#include "harness/trace/tracer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/base/temporary_folder.h"

namespace abba::trace {
namespace {

namespace fs = std::filesystem;

class TracerTest : public ::testing::Test {
 protected:
  std::string make(const std::string& name) {
    const fs::path path = fs::path(folder_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }
  fs::path program() { return fs::path(folder_.path()) / "bin" / "abba"; }

  base::TemporaryFolder folder_;
};

TEST_F(TracerTest, LiesInTheNeighbouringFolderWithCuptiBesideIt) {
  const std::string library = make("lib/libabba_trace.so");
  const std::string cupti = make("lib/libcupti.so.13");
  const Tracer tracer = find_tracer(program(), {});
  EXPECT_EQ(tracer.lack, "");
  EXPECT_EQ(tracer.library, library);
  EXPECT_EQ(tracer.cupti, cupti);
  const auto environment = traced_environment(tracer, "/f");
  EXPECT_EQ(environment.at("CUDA_INJECTION64_PATH"), library);
  EXPECT_EQ(environment.at("NVTX_INJECTION64_PATH"), cupti);
  EXPECT_EQ(environment.at("ABBA_TRACE_CUPTI"), cupti);
  EXPECT_EQ(environment.at("ABBA_TRACE_FILE"), "/f");
}

TEST_F(TracerTest, OneThatIsNotThereIsSaid) {
  EXPECT_EQ(find_tracer(program(), {}).lack, "this abba came without libabba_trace.so");
}

TEST_F(TracerTest, WhatAPersonNamesCountsAlone) {
  make("lib/libabba_trace.so");
  make("lib/libcupti.so.13");
  const std::string other = make("other.so");
  EXPECT_EQ(find_tracer(program(), {other, other}).library, other);
  EXPECT_EQ(find_tracer(program(), {other, other}).cupti, other);
  EXPECT_EQ(find_tracer(program(), {"/nowhere/t.so", ""}).lack,
            "/nowhere/t.so, which was named for it, is no file");
  EXPECT_EQ(find_tracer(program(), {other, "/nowhere/c.so"}).lack,
            "/nowhere/c.so, which was named for it, is no file");
}

}  // namespace
}  // namespace abba::trace
