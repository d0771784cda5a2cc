// Identity, devices, clock and doctor: what can be read is there, what cannot says why.
#include "harness/host/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/host/clock.h"
#include "harness/host/doctor.h"
#include "tests/unit/host/fake_system.h"

namespace abba::host::testing {
namespace {

using ::testing::HasSubstr;

std::string value_of(const std::vector<record::Identity>& rows, const std::string& source,
                     const std::string& key) {
  for (const record::Identity& row : rows) {
    if (row.source == source && row.key == key) return row.value;
  }
  return "no row";
}

TEST(Identity, ReadsAMachine) {
  FakeSystem system;
  system.write("proc/cpuinfo",
               "processor\t: 0\nname\t: Example 9000\nmicrocode\t: 0xa1\ncpu MHz\t: 2600.1\n"
               "flags\t: fpu avx2 hypervisor\n\nprocessor\t: 1\nname\t: other\n");
  system.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  system.write("proc/meminfo", "MemTotal:  1024 kB\nHugepagesize: 2048 kB\n");
  system.write("proc/sys/kernel/random/boot_id", "1234-5\n");
  system.write("etc/os-release", "NAME=\"x\"\nPRETTY_NAME=\"Example Linux 1\"\n");
  const auto rows = host_identity(system.root());
  EXPECT_EQ(value_of(rows, "cpu", "name"), "Example 9000");
  EXPECT_EQ(value_of(rows, "cpu", "microcode"), "0xa1");
  EXPECT_EQ(value_of(rows, "cpu", "cpu MHz"), "no row");  // differs at every reading
  EXPECT_EQ(value_of(rows, "frequency", "scaling_governor"), "performance");
  EXPECT_EQ(value_of(rows, "memory", "total"), "1024 kB");
  EXPECT_EQ(value_of(rows, "kernel", "boot id"), "1234-5");
  EXPECT_EQ(value_of(rows, "system", "distribution"), "Example Linux 1");
  EXPECT_EQ(value_of(rows, "system", "virtual machine"), "yes");
}

TEST(Identity, SaysWhatCannotBeRead) {
  const FakeSystem empty;
  const auto rows = host_identity(empty.root());
  EXPECT_THAT(value_of(rows, "cpu", "fields"), HasSubstr("unreadable: "));
  EXPECT_THAT(value_of(rows, "frequency", "boost"), HasSubstr("cpufreq/boost cannot be read"));
  EXPECT_EQ(value_of(rows, "system", "virtual machine"), "no hint");
}

Variables variables_of(std::map<std::string, std::string> given) {
  return [given = std::move(given)](const std::string& name) {
    const auto found = given.find(name);
    return found == given.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

TEST(Identity, NamesNodesLimitsAndTheReservation) {
  FakeSystem system;
  system.write("proc/cmdline", "quiet isolcpus=2\n");
  system.write("proc/self/cgroup", "0::/batch/job7\n");
  system.write("sys/fs/cgroup/batch/job7/cpu.max", "150000 100000\n");
  system.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  system.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  system.write("sys/devices/system/node/node1/distance", "21 10\n");
  system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  const auto rows = host_identity(
      system.root(),
      variables_of(
          {{"SLURM_JOB_ID", "812"}, {"PBS_JOBID", ""}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}));
  EXPECT_EQ(value_of(rows, "kernel", "command line"), "quiet isolcpus=2");
  EXPECT_EQ(value_of(rows, "cgroup", "cpu.max"), "150000 100000");
  EXPECT_THAT(value_of(rows, "cgroup", "memory.max"), HasSubstr("unreadable: "));
  EXPECT_EQ(value_of(rows, "numa", "node1 CPUs"), "4-7");
  EXPECT_EQ(value_of(rows, "numa", "node1 distances"), "21 10");
  EXPECT_EQ(value_of(rows, "numa", "node2 CPUs"), "no row");
  EXPECT_EQ(value_of(rows, "frequency", "boost"), "1");
  EXPECT_EQ(value_of(rows, "reservation", "SLURM_JOB_ID"), "812");
  EXPECT_EQ(value_of(rows, "reservation", "PBS_JOBID"), "no row");
  EXPECT_EQ(value_of(rows, "reservation", "job"), "no row");
  EXPECT_EQ(value_of(rows, "system", "container"), "kubernetes");
  const auto alone = host_identity(system.root(), variables_of({{"ABBA_RESERVATION", "lab 3"}}));
  EXPECT_EQ(value_of(alone, "reservation", "ABBA_RESERVATION"), "lab 3");
  const auto none = host_identity(system.root(), variables_of({}));
  EXPECT_THAT(value_of(none, "reservation", "job"), HasSubstr("unreadable: no variable"));
  EXPECT_EQ(value_of(none, "system", "container"), "no hint");
}

TEST(Identity, ThisMachineHasTheEssentials) {
  const auto rows = host_identity();
  for (const auto& [source, key] : {std::pair{"kernel", "release"},
                                    {"kernel", "boot id"},
                                    {"memory", "total"},
                                    {"system", "libc"},
                                    {"cpu", "flags"}}) {
    EXPECT_THAT(value_of(rows, source, key), ::testing::Not(HasSubstr("unreadable")))
        << source << " " << key;
    EXPECT_NE(value_of(rows, source, key), "no row") << source << " " << key;
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& row : rows) EXPECT_TRUE(seen.insert({row.source, row.key}).second) << row.key;
  EXPECT_FALSE(host_name().empty());
}

TEST(Devices, EverySourceSpeaksForItself) {
  FakeDeviceProbe probe({{"nvml", 0, "GPU-1", "Name One", "8.9", -1, 100, "580"},
                         {"driver", 0, "GPU-1", "Name Two", "9.0", 132, 99, "13.0"}},
                        {"something is amiss"});
  const auto rows = device_identity(probe);
  EXPECT_EQ(value_of(rows, "nvml/0", "compute capability"), "8.9");
  EXPECT_EQ(value_of(rows, "driver/0", "compute capability"), "9.0");  // a conflict stays visible
  EXPECT_EQ(value_of(rows, "driver/0", "multiprocessors"), "132");
  EXPECT_EQ(value_of(rows, "nvml/0", "multiprocessors"), "no row");
  EXPECT_EQ(value_of(rows, "device", "unavailable"), "something is amiss");
}

// Either way something is said: a device by its name, or why there is none. The bus alone knows no
// UUID.
TEST(Devices, AMachineWithoutADriverSaysSo) {
  const auto probe = open_device_probe();
  EXPECT_FALSE(probe->devices().empty() && probe->problems().empty());
  for (const auto& device : probe->devices()) {
    EXPECT_EQ(device.uuid.empty(), device.source == "pci") << device.source;
  }
}

TEST(Clock, TheFakeMovesOnlyWhenTold) {
  FakeClock clock(100, 0);
  EXPECT_EQ(clock.steady_ns(), 100);
  clock.sleep_ns(50);
  clock.advance_ns(1);
  EXPECT_EQ(clock.steady_ns(), 151);
  FakeClock ticking(0, 40);
  EXPECT_DOUBLE_EQ(clock_read_cost_ns(ticking, 3), 40.0);
}

TEST(Clock, TheRealOneNeverGoesBack) {
  SystemClock clock;
  const std::int64_t start = clock.steady_ns();
  clock.sleep_ns(2'000'000);
  EXPECT_GE(clock.steady_ns() - start, 2'000'000);
  EXPECT_GT(clock_read_cost_ns(clock, 3), 0);
  EXPECT_GT(clock.utc_seconds(), 1'600'000'000);
}

TEST(Doctor, NamesWhatIsMissingAndWhatToDo) {
  const FakeSystem empty;
  FakeDeviceProbe probe({}, {"libcuda.so.1 cannot be opened: no such file"});
  std::set<std::string> topics;
  for (const Finding& finding : doctor("/nowhere/at/all", probe, empty.root())) {
    topics.insert(finding.topic);
    EXPECT_FALSE(finding.text.empty()) << finding.topic;
    if (finding.health == Health::kMissing) {
      EXPECT_FALSE(finding.advice.empty()) << finding.topic;
    }
    if (finding.topic == "device") {
      EXPECT_THAT(finding.text, HasSubstr("libcuda.so.1"));
    }
    if (finding.topic == "disk") {
      EXPECT_EQ(finding.health, Health::kMissing);
    }
    if (finding.topic == "frequency") {
      EXPECT_EQ(finding.health, Health::kLimited);
    }
    if (finding.topic == "counters") {
      EXPECT_EQ(finding.health, Health::kLimited);
    }
  }
  EXPECT_THAT(topics, ::testing::IsSupersetOf({"cpus", "clock", "disk", "git", "device"}));
  EXPECT_GT(free_bytes("/"), 0);
}

}  // namespace
}  // namespace abba::host::testing
