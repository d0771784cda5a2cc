// A device that is chosen, watched and reserved, with a probe that says what the test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "engine/base/error.h"
#include "harness/host/device_choice.h"
#include "harness/host/device_lock.h"
#include "harness/host/environment_watch.h"
#include "tests/unit/host/fake_system.h"

namespace abba::host::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;

Device driver_device(int ordinal = 0) {
  return {"driver",      ordinal, "GPU-" + std::to_string(ordinal),
          "NVIDIA H200", "9.0",   132,
          140 * kGiB,    "13.0",  "0000:0" + std::to_string(ordinal) + ":00.0"};
}

DeviceState idle_state() {
  DeviceState state;
  state.readings = {{"gpu.sm_clock", 1980, "MHz", ""},
                    {"gpu.utilisation", 0, "share", ""},
                    {"gpu.memory_used", 0, "bytes", ""},
                    {"gpu.throttle_reasons", 1, "bits", ""},
                    {"gpu.throttle.thermal", 500, "ns", ""},
                    {"gpu.throttle.power", 1000, "ns", ""},
                    {"gpu.ecc.corrected", 2, "errors", ""},
                    {"gpu.energy", 10, "J", ""},
                    {"gpu.xid", 0, "events", ""}};
  return state;
}

void set_value(DeviceState& state, const std::string& key, double value) {
  for (DeviceReading& reading : state.readings) {
    if (reading.key == key) reading.value = value;
  }
}

record::DeviceWish wish(const std::string& wanted) {
  record::DeviceWish result;
  result.wanted = wanted;
  return result;
}

std::string refusal(const record::DeviceWish& wanted, DeviceProbe& probe,
                    const DeviceHolder& holder = nullptr) {
  FakeClock clock;
  try {
    (void)choose_device(wanted, probe, clock, holder);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kPreflight);
    return error.what();
  }
  return "";
}

TEST(Choice, NoneTouchesNoDevice) {
  FakeDeviceProbe probe({driver_device()}, {});
  FakeClock clock;
  EXPECT_FALSE(choose_device(wish("none"), probe, clock, nullptr).chosen());
  EXPECT_EQ(probe.reads, 0);
}

TEST(Choice, TakesTheNamedOneAndKeepsWhatEverySourceSays) {
  Device nvml{"nvml", 1, "GPU-1", "L20X", "8.9", -1, 140 * kGiB + kGiB / 2, "580.1", ""};
  Device pci{"pci", 0, "", "0x10de:2335", "", -1, -1, "", "0000:01:00.0", ""};
  FakeDeviceProbe probe({nvml, driver_device(0), driver_device(1), pci}, {});
  probe.state = idle_state();
  FakeClock clock;
  const DeviceChoice choice = choose_device(wish("GPU-1"), probe, clock, nullptr);
  EXPECT_EQ(choice.uuid, "GPU-1");
  EXPECT_EQ(probe.last_uuid, "GPU-1");
  ASSERT_EQ(choice.sources.size(), 3U);
  EXPECT_EQ(choice.sources[0].source, "driver");
  EXPECT_THAT(
      choice.disagreements,
      ::testing::ElementsAre("name: driver says NVIDIA H200, nvml says L20X; used is NVIDIA H200",
                             "compute capability: driver says 9.0, nvml says 8.9; used is 9.0"));
  EXPECT_TRUE(choice.doubts.empty());
}

TEST(Choice, MemoryWithinFivePerCentIsNoDisagreement) {
  Device nvml = driver_device();
  nvml.source = "nvml";
  nvml.memory_bytes = 146 * kGiB;
  EXPECT_TRUE(disagreements({driver_device(), nvml}).empty());
  nvml.memory_bytes = 80 * kGiB;
  EXPECT_EQ(disagreements({driver_device(), nvml}).size(), 1U);
}

TEST(Choice, OneSentenceForEachWayToFail) {
  FakeDeviceProbe nothing({}, {"libcuda.so.1 cannot be opened: no such file"});
  EXPECT_THAT(refusal(wish("any"), nothing), HasSubstr("libcuda.so.1 cannot be opened"));
  FakeDeviceProbe probe({driver_device()}, {});
  probe.state = idle_state();
  EXPECT_THAT(refusal(wish("GPU-7"), probe), HasSubstr("this machine has GPU-0 (NVIDIA H200)"));
  Device hidden = driver_device(3);
  hidden.source = "nvml";
  FakeDeviceProbe masked({driver_device(), hidden}, {});
  EXPECT_THAT(refusal(wish("GPU-3"), masked), HasSubstr("CUDA_VISIBLE_DEVICES"));
  auto expecting = wish("any");
  expecting.compute_capability = "8.0";
  EXPECT_THAT(refusal(expecting, probe), HasSubstr("compute capability 9.0"));
  expecting = wish("any");
  expecting.sm_count = 114;
  EXPECT_THAT(refusal(expecting, probe), HasSubstr("an SM count of 132"));
  expecting = wish("any");
  expecting.memory_bytes = 80 * kGiB;
  EXPECT_THAT(refusal(expecting, probe), HasSubstr("memory of bytes"));
  expecting.memory_bytes = 141 * kGiB;  // within 2 %
  EXPECT_EQ(refusal(expecting, probe), "");
}

TEST(Choice, CompanyIsRefusedHoweverItShows) {
  FakeDeviceProbe probe({driver_device()}, {});
  probe.state = idle_state();
  probe.state.processes = {{4'000'001, 3 * kGiB}};
  EXPECT_THAT(refusal(wish("any"), probe), HasSubstr("process 4000001 with 3072 MiB"));
  probe.state = idle_state();
  set_value(probe.state, "gpu.utilisation", 0.4);
  EXPECT_THAT(refusal(wish("any"), probe), HasSubstr("busy (40 % utilised)"));
  probe.state = idle_state();
  set_value(probe.state, "gpu.memory_used", 5.0 * kGiB);
  EXPECT_THAT(refusal(wish("any"), probe), HasSubstr("5120 MiB in use"));
}

TEST(Choice, WaitsForADeviceThatWasBusyAMomentAgo) {
  FakeDeviceProbe probe({driver_device()}, {});
  DeviceState busy = idle_state();
  set_value(busy, "gpu.utilisation", 0.9);
  probe.states = {busy, busy};
  probe.state = idle_state();
  EXPECT_EQ(refusal(wish("any"), probe), "");
  EXPECT_EQ(probe.reads, 3);
}

TEST(Choice, WhatCannotBeReadIsADoubtNotAPass) {
  FakeDeviceProbe probe({driver_device()}, {});
  probe.state.processes_problem = "not permitted";
  FakeClock clock;
  const DeviceChoice choice = choose_device(wish("any"), probe, clock, nullptr);
  ASSERT_EQ(choice.doubts.size(), 2U);
  EXPECT_THAT(choice.doubts[0], HasSubstr("not permitted"));
  EXPECT_THAT(choice.text, HasSubstr("as far as can be read"));
}

TEST(Choice, AnySkipsWhatIsReserved) {
  FakeDeviceProbe probe({driver_device(0), driver_device(1)}, {});
  probe.state = idle_state();
  FakeClock clock;
  const auto holder = [](const std::string& uuid) {
    return uuid == "GPU-0" ? std::string("another harness (process 12)") : std::string();
  };
  EXPECT_EQ(choose_device(wish("any"), probe, clock, holder).uuid, "GPU-1");
  EXPECT_THAT(refusal(wish("GPU-0"), probe, holder), HasSubstr("another harness (process 12)"));
}

class Reservation : public ::testing::Test {
 protected:
  Reservation() {
    system_.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    folder_ = system_.root().proc.parent_path();
    file_ = folder_ / "abba-device-GPU-0.lock";
  }
  FakeSystem system_;
  std::filesystem::path folder_;
  std::filesystem::path file_;
};

TEST_F(Reservation, TheSecondHarnessIsRefusedWithOneSentence) {
  const DeviceLock first(folder_, "GPU-0", "2026-01-02T03:04:05Z", system_.root());
  EXPECT_EQ(first.stale(), "");
  EXPECT_THAT(device_holder(folder_, "GPU-0"), HasSubstr(std::to_string(::getpid())));
  try {
    const DeviceLock second(folder_, "GPU-0", "later", system_.root());
    FAIL() << "both hold it";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kPreflight);
    EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(::getpid()) +
                                        ", since 2026-01-02T03:04:05Z"));
  }
  const DeviceLock other(folder_, "GPU-1", "now", system_.root());  // another device is free
}

TEST_F(Reservation, IsGoneWithItsHolder) {
  { const DeviceLock first(folder_, "GPU-0", "then", system_.root()); }
  EXPECT_EQ(device_holder(folder_, "GPU-0"), "");
  const DeviceLock second(folder_, "GPU-0", "now", system_.root());
  EXPECT_EQ(second.stale(), "");  // the first had ended properly
}

TEST_F(Reservation, OfAKilledHarnessIsTakenOverAndNamed) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const DeviceLock lock(folder_, "GPU-0", "then", system_.root());
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char got = 0;
  ASSERT_EQ(::read(ready[0], &got, 1), 1);
  EXPECT_THAT(device_holder(folder_, "GPU-0"), HasSubstr(std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(device_holder(folder_, "GPU-0"), "");
  const DeviceLock lock(folder_, "GPU-0", "now", system_.root());
  EXPECT_EQ(lock.stale(), "process " + std::to_string(child) + ", since then");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Reservation, OfAnEarlierBootIsStaleThoughThePidLives) {
  std::ofstream(file_) << R"({"pid":)" << ::getpid()
                       << R"(,"boot_id":"boot-0","since_utc":"long ago"})";
  const DeviceLock lock(folder_, "GPU-0", "now", system_.root());
  EXPECT_EQ(lock.stale(),
            "process " + std::to_string(::getpid()) + " of an earlier boot, since long ago");
}

TEST_F(Reservation, RubbishInTheFileIsNoHolder) {
  std::ofstream(file_) << "\x01{half";
  EXPECT_EQ(device_holder(folder_, "GPU-0"), "");
  const DeviceLock lock(folder_, "GPU-0", "now", system_.root());
  EXPECT_THAT(lock.stale(), HasSubstr("did not write its name"));
}

TEST_F(Reservation, AFolderThatIsNotThereSaysSo) {
  EXPECT_THROW(DeviceLock("/no/such/folder", "GPU-0", "now"), base::Error);
}

class DeviceSlot : public ::testing::Test {
 protected:
  DeviceSlot() : probe_({driver_device()}, {}) {
    probe_.state = idle_state();
    EnvironmentWatch::Options options;
    options.experiment_cpus = {};
    options.period_ms = 0;
    options.root = system_.root();
    options.device = &probe_;
    options.device_uuid = "GPU-0";
    watch_ = std::make_unique<EnvironmentWatch>(options, clock_);
    watch_->set_workers({77, 78});
  }
  std::string slot(const DeviceState& after) {
    watch_->before_slot(5, {0});
    clock_.advance_ns(1'000'000'000);
    probe_.state = after;
    exposure_ = watch_->after_slot();
    return taint(exposure_, record::Load::kQuiet);
  }
  double reading(const std::string& key, const std::string& moment) {
    for (const auto& each : watch_->take_readings()) {
      readings_.push_back(each);
    }
    for (const auto& each : readings_) {
      if (each.key == key && each.moment == moment && each.slot == 5) return each.value;
    }
    return -1;
  }
  FakeSystem system_;
  FakeClock clock_;
  FakeDeviceProbe probe_;
  SlotExposure exposure_;
  std::unique_ptr<EnvironmentWatch> watch_;
  std::vector<record::EnvironmentReading> readings_;
};

TEST_F(DeviceSlot, AQuietOneIsCleanAndReadAtBothEnds) {
  DeviceState after = idle_state();
  set_value(after, "gpu.energy", 310);
  set_value(after, "gpu.throttle.power", 251'000);
  after.processes = {{77, -1}, {78, -1}};
  EXPECT_EQ(slot(after), "");
  EXPECT_EQ(reading("gpu.sm_clock", "before"), 1980);
  EXPECT_EQ(reading("gpu.sm_clock", "after"), 1980);
  EXPECT_EQ(reading("gpu.foreign", "after"), 0);
  EXPECT_EQ(reading("gpu.slot.energy", "after"), 300);
  EXPECT_EQ(reading("gpu.slot.power_capped", "after"), 250'000);  // exposure, not taint
}

TEST_F(DeviceSlot, AForeignProcessTaints) {
  DeviceState after = idle_state();
  after.processes = {{77, -1}, {78, -1}, {99, -1}};
  EXPECT_EQ(slot(after), "gpu-foreign");
  EXPECT_GE(reading("gpu.foreign", "after"), 1e9);
}

TEST_F(DeviceSlot, MemoryThatNoListedProcessAccountsForTaintsIfItStays) {
  DeviceState ours = idle_state();
  ours.processes = {{77, 2 * kGiB}, {78, 1 * kGiB}};
  set_value(ours, "gpu.memory_used", 3.1 * kGiB);
  probe_.state = ours;
  EXPECT_EQ(slot(ours), "");
  EXPECT_NEAR(reading("gpu.memory_unlisted", "after"), 0.1 * kGiB, 1e6);
  DeviceState hidden = ours;
  set_value(hidden, "gpu.memory_used", 5.0 * kGiB);
  EXPECT_EQ(slot(hidden), "") << "only its end: a worker that went may leave it for a moment";
  EXPECT_EQ(slot(hidden), "gpu-foreign");
  EXPECT_NEAR(static_cast<double>(exposure_.device.unlisted_bytes), 1.9 * kGiB, 1e6);
  hidden.processes[0].memory_bytes = -1;  // not told: nothing can be said
  probe_.state = hidden;
  EXPECT_EQ(slot(hidden), "");
  EXPECT_EQ(exposure_.device.unlisted_bytes, -1);
}

TEST_F(DeviceSlot, ProcessNumbersOfAnotherNamespaceProveNothing) {
  DeviceState after = idle_state();
  after.processes = {{4001, -1}, {4002, -1}};
  EXPECT_EQ(slot(after), "");
  after.processes.push_back({4003, -1});
  EXPECT_EQ(slot(after), "gpu-foreign");
}

TEST_F(DeviceSlot, HeatEccAndXidTaint) {
  DeviceState after = idle_state();
  set_value(after, "gpu.throttle_reasons", 0x40);
  EXPECT_EQ(slot(after), "gpu-thermal");
  probe_.state = idle_state();
  after = idle_state();
  set_value(after, "gpu.throttle.thermal", 501);
  EXPECT_EQ(slot(after), "gpu-thermal");
  probe_.state = idle_state();
  after = idle_state();
  set_value(after, "gpu.ecc.corrected", 3);
  EXPECT_EQ(slot(after), "gpu-ecc");
  probe_.state = idle_state();
  after = idle_state();
  set_value(after, "gpu.xid", 1);
  EXPECT_EQ(slot(after), "gpu-xid");
}

TEST_F(DeviceSlot, WhatCannotBeReadIsSaidOnceWithTheReason) {
  probe_.state = {};
  probe_.state.readings = {{"gpu.sm_clock", 0, "MHz", "not permitted"}};
  probe_.state.processes_problem = "not permitted";
  EXPECT_EQ(slot(probe_.state), "");
  EXPECT_EQ(exposure_.device.foreign_processes, -1);
  EXPECT_EQ(exposure_.device.ecc_errors, -1);
  EXPECT_EQ(slot(probe_.state), "");
  int said = 0;
  for (const auto& each : watch_->take_readings()) {
    if (each.key.rfind("gpu.", 0) == 0) {
      EXPECT_EQ(each.text, "unreadable: not permitted") << each.key;
      ++said;
    }
  }
  EXPECT_EQ(said, 2);
}

TEST_F(DeviceSlot, ADeviceThatVanishesIsLostAndOneThatWasNeverReadableIsNot) {
  DeviceState gone;
  gone.readings = {{"gpu.sm_clock", 0, "MHz", "the GPU is lost"}};
  gone.processes_problem = "the GPU is lost";
  slot(idle_state());
  EXPECT_FALSE(exposure_.device.lost);
  slot(gone);
  EXPECT_TRUE(exposure_.device.lost);
  slot(gone);  // gone at both ends
  EXPECT_TRUE(exposure_.device.lost);
  EnvironmentWatch::Options options;
  options.period_ms = 0;
  options.root = system_.root();
  options.device = &probe_;
  options.device_uuid = "GPU-0";
  watch_ = std::make_unique<EnvironmentWatch>(options, clock_);
  slot(gone);
  EXPECT_FALSE(exposure_.device.lost);
}

TEST(Throttle, BitsHaveNames) {
  EXPECT_EQ(throttle_text(0), "none");
  EXPECT_EQ(throttle_text(0x24), "power cap, thermal (software)");
}

}  // namespace
}  // namespace abba::host::testing
