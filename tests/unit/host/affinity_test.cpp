// CPUs are chosen by rule, refused in words, really set, and read back from the kernel.
#include "harness/host/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "engine/base/error.h"
#include "tests/unit/machine.h"

namespace abba::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const base::Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(CpuList, BothWays) {
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list_text({}), "none");
  EXPECT_EQ(cpu_list_text({5}), "5");
  EXPECT_THAT(parse_cpu_list("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpu_list("7"), ElementsAre(7));
  for (const char* bad : {"", "a", "1-", "1-2-3", "-1", "99999", "1,,2"}) {
    EXPECT_THROW((void)parse_cpu_list(bad), base::Error) << bad;
  }
}

TEST(Split, TheHarnessKeepsTheLowestCpu) {
  const CpuSplit two = split_cpus({}, {0, 1});
  EXPECT_THAT(two.worker, ElementsAre(1));
  EXPECT_THAT(two.harness, ElementsAre(0));
  EXPECT_FALSE(two.shared);
  const CpuSplit many = split_cpus({}, {2, 3, 5, 7});
  EXPECT_THAT(many.worker, ElementsAre(3, 5, 7));
  EXPECT_THAT(many.harness, ElementsAre(2));
}

TEST(Split, OneCpuIsSharedAndThatIsSaid) {
  const CpuSplit one = split_cpus({}, {4});
  EXPECT_THAT(one.worker, ElementsAre(4));
  EXPECT_THAT(one.harness, ElementsAre(4));
  EXPECT_TRUE(one.shared);
  EXPECT_THAT(one.rule, HasSubstr("shares"));
}

TEST(Split, AWishIsHonouredOrRefused) {
  record::AffinityWish wish;
  wish.cpus = {0};
  const CpuSplit split = split_cpus(wish, {0, 1});
  EXPECT_THAT(split.worker, ElementsAre(0));
  EXPECT_THAT(split.harness, ElementsAre(1));
  wish.cpus = {1, 64};
  EXPECT_THAT(refusal([&] {
                (void)split_cpus(wish, {0, 1, 2, 3});
              }),
              HasSubstr("CPU 64 does not exist or is not allowed here; allowed are 0-3"));
  wish.cpus = {0, 1};
  EXPECT_TRUE(split_cpus(wish, {0, 1}).shared);
  wish.cpus.clear();
  wish.numa_node = 1000;
  EXPECT_THAT(refusal([&] {
                (void)split_cpus(wish, {0, 1});
              }),
              HasSubstr("NUMA node 1000 does not exist"));
}

// A process with two threads that waits until the test has looked at it.
class Child {
 public:
  Child() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      char byte = 0;
      std::thread second([&] {
        [[maybe_unused]] const auto told = ::write(ready[1], "r", 1);
        [[maybe_unused]] const auto got = ::read(ends[0], &byte, 1);
      });
      second.join();
      ::_exit(0);
    }
    ::close(ends[0]);
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    release_ = ends[1];
  }
  ~Child() {
    ::close(release_);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int release_ = -1;
};

TEST(Affinity, IsSetForEveryThreadAndReadBack) {
  const Child child;
  const int cpu = allowed_cpus().back();
  set_affinity(child.pid(), {cpu});
  const AppliedAffinity applied = read_affinity(child.pid(), {cpu});
  EXPECT_EQ(applied.threads, 2);
  EXPECT_THAT(applied.cpus, ElementsAre(cpu));
  EXPECT_TRUE(applied.stray_threads.empty());
  EXPECT_FALSE(applied.memory_nodes.empty());
  EXPECT_FALSE(applied.memory_policy.empty());
}

// The canary: reading back must see that a thread is not where it should be.
TEST(Affinity, AStrayThreadIsSeen) {
  const Child child;
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) {
    ASSERT_FALSE(machine::must_run(machine::has_two_cpus())) << "held on one CPU of several";
    GTEST_SKIP() << "one CPU: nothing can stray";
  }
  set_affinity(child.pid(), {allowed.back()});
  EXPECT_EQ(read_affinity(child.pid(), {allowed.front()}).stray_threads.size(), 2U);
}

TEST(Affinity, TheImpossibleIsRefused) {
  const Child child;
  EXPECT_THAT(refusal([&] { set_affinity(child.pid(), {4000}); }),
              HasSubstr("CPUs 4000 were refused"));
  EXPECT_THAT(refusal([] { (void)read_affinity(1 << 30, {0}); }), HasSubstr("is gone"));
}

TEST(SpawnPlacement, ChildrenInheritItAndTheParentGetsItsOwnBack) {
  const std::vector<int> before = allowed_cpus();
  const int cpu = before.back();
  {
    const SpawnPlacement placement({cpu}, -1);
    const Child child;
    EXPECT_THAT(read_affinity(child.pid(), {cpu}).stray_threads, ElementsAre());
  }
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_THROW(SpawnPlacement({4000}, -1), base::Error);
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(SpawnPlacement, MemoryIsBoundWhereTheKernelAllowsIt) {
  try {
    const SpawnPlacement placement({}, 0);
    const Child child;
    EXPECT_EQ(read_affinity(child.pid(), allowed_cpus()).memory_policy.rfind("bind", 0), 0U);
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("memory cannot be bound"));
    ASSERT_FALSE(machine::must_run(machine::can_bind_memory())) << error.what();
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace abba::host
