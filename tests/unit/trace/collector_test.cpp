#include "harness/trace/collect/collector.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "engine/base/temporary_folder.h"
#include "harness/trace/trace_file.h"
#include "tests/unit/trace/fake_cupti.h"

namespace abba::trace {
namespace {

using testing::FakeCupti;
using testing::kernel_record;

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A process has one collector: each test traces a child. Its exit code is that of `body`, or 99.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

class CollectorTest : public ::testing::Test {
 protected:
  // Begins, works, finishes, in a child; reads what it wrote.
  TraceFile traced(FakeCupti fake, const std::function<void(FakeCupti&)>& work = {}) {
    EXPECT_EQ(in_child([&] {
                begin_trace_with(path_, testing::api_of(fake));
                if (work) work(fake);
                finish_trace();
                finish_trace();  // does nothing
                return 0;
              }),
              0);
    return read_trace_file(path_);
  }

  base::TemporaryFolder folder_;
  std::string path_ = folder_.file("t.trace");
};

TEST_F(CollectorTest, WritesWhatCuptiHandsOutOnTheSteadyClock) {
  FakeCupti fake;
  fake.ahead_ns = 1'700'000'000'000'000'000;
  fake.dropped = 2;
  const std::int64_t before = steady_ns();
  const TraceFile file = traced(fake, [&](FakeCupti& now) {
    const auto at = static_cast<std::uint64_t>(steady_ns()) + now.ahead_ns;
    now.queue(kernel_record("k", at, at + 500));
    std::this_thread::sleep_for(std::chrono::milliseconds(70));
  });
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(file.info.at(kInfoStatus), "ok");
  EXPECT_EQ(file.info.at(kInfoCupti), "130001");
  EXPECT_EQ(file.end.dropped, 2U);
  EXPECT_GE(file.clock.size(), 4U);  // at both ends, and every 20 ms between
  ASSERT_EQ(file.records.kernels.size(), 1U);
  EXPECT_GT(file.records.kernels.front().start_ns, before);
  EXPECT_LT(file.records.kernels.front().start_ns, steady_ns());
  const auto length = file.records.kernels.front().end_ns - file.records.kernels.front().start_ns;
  EXPECT_NEAR(static_cast<double>(length), 500, 5);
}

TEST_F(CollectorTest, AsksForEveryKindThatIsStored) {
  FakeCupti fake;
  fake.enable_markers = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const TraceFile file = traced(fake, [](FakeCupti& now) {
    for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME,
                            CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MARKER}) {
      if (std::count(now.kinds.begin(), now.kinds.end(), kind) != 1) _exit(7);
    }
  });
  EXPECT_EQ(lack_of(file), "CUPTI gives no records of ranges: CUPTI_ERROR_MADE_UP");
}

TEST_F(CollectorTest, ARefusalIsTheFilesStatusAndTheProcessGoesOn) {
  FakeCupti fake;
  fake.enable_kernels = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  EXPECT_EQ(lack_of(traced(fake)), "CUPTI gives no records of kernels: CUPTI_ERROR_MADE_UP");
}

TEST_F(CollectorTest, AFlushThatFailsIsSaid) {
  FakeCupti fake;
  fake.flush = CUPTI_ERROR_UNKNOWN;
  EXPECT_EQ(lack_of(traced(fake)), "the last records were not flushed: CUPTI_ERROR_MADE_UP");
}

TEST_F(CollectorTest, NoCuptiIsTheFilesStatus) {
  EXPECT_EQ(in_child([&] {
              begin_trace(path_, "/nowhere/libcupti.so");
              finish_trace();
              return 0;
            }),
            0);
  const TraceFile file = read_trace_file(path_);
  EXPECT_NE(lack_of(file).find("/nowhere/libcupti.so"), std::string::npos);
  EXPECT_TRUE(file.complete);
}

TEST_F(CollectorTest, AFileThatCannotBeMadeHarmsNothing) {
  EXPECT_EQ(in_child([&] {
              FakeCupti fake;
              begin_trace_with("/nowhere/t.trace", testing::api_of(fake));
              finish_trace();
              return 5;
            }),
            5);
}

TEST_F(CollectorTest, AForkedChildLeavesTheFileToItsParent) {
  const TraceFile file = traced({}, [](FakeCupti& now) {
    now.queue(kernel_record("k", 10, 20));
    if (in_child([] {
          finish_trace();
          return 0;
        }) != 0) {
      _exit(7);
    }
  });
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(file.records.kernels.size(), 1U);
}

// The library as the driver loads it: one symbol, and harmless in a process that names no file.
TEST(TraceLibrary, ExportsItsOneSymbolAndDoesNoHarmUnasked) {
  void* library = dlopen(ABBA_TRACE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "_ZN4abba5trace12finish_traceEv"), nullptr);
  auto* initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  ASSERT_NE(initialize, nullptr);
  unsetenv(kTraceFileVariable);
  EXPECT_EQ(initialize(), 1);
  dlclose(library);
}

// Whatever CUPTI this machine has is left out: what it does at exit is not ours to test.
TEST(TraceLibrary, EndsItsFileWhenTheProcessExits) {
  const base::TemporaryFolder folder;
  const std::string path = folder.file("t.trace");
  const pid_t child = fork();
  if (child == 0) {
    setenv(kTraceFileVariable, path.c_str(), 1);
    setenv(kTraceCuptiVariable, "/nowhere/libcupti.so", 1);
    auto* initialize = reinterpret_cast<int (*)()>(
        dlsym(dlopen(ABBA_TRACE_LIBRARY, RTLD_NOW), "InitializeInjection"));
    std::_Exit(initialize == nullptr ? 7 : (initialize(), std::exit(0), 0));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const TraceFile file = read_trace_file(path);
  EXPECT_TRUE(file.complete);
  EXPECT_NE(lack_of(file).find("/nowhere/libcupti.so"), std::string::npos);
}

}  // namespace
}  // namespace abba::trace
