// The management library through its C interface, with a stand-in that exports the same functions:
// each value ends under its key and unit, each refusal keeps its reason.
#include "harness/host/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace abba::host::testing {
namespace {

using ::testing::HasSubstr;

const DeviceReading* reading(const DeviceState& state, const std::string& key) {
  for (const DeviceReading& each : state.readings) {
    if (each.key == key) return &each;
  }
  return nullptr;
}

TEST(ManagementLibrary, NamesItsDevices) {
  const Nvml nvml(ABBA_FAKE_NVML);
  EXPECT_EQ(nvml.problem(), "");
  const auto devices = nvml.devices();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].source, "nvml");
  EXPECT_EQ(devices[0].uuid, "GPU-f");
  EXPECT_EQ(devices[0].name, "L20X");
  EXPECT_EQ(devices[0].compute_capability, "8.9");
  EXPECT_EQ(devices[0].memory_bytes, 1000);
  EXPECT_EQ(devices[0].driver_version, "580.1");
  EXPECT_EQ(devices[0].pci_address, "00000000:18:00.0");
}

TEST(ManagementLibrary, GivesEveryReadingItsUnit) {
  Nvml nvml(ABBA_FAKE_NVML);
  const DeviceState state = nvml.read("GPU-f");
  EXPECT_EQ(state.value("gpu.sm_clock"), 1980);
  EXPECT_EQ(state.value("gpu.memory_clock"), 3201);
  EXPECT_EQ(state.value("gpu.temperature"), 41);
  EXPECT_NEAR(state.value("gpu.power").value(), 123.456, 1e-9);
  EXPECT_NEAR(state.value("gpu.energy").value(), 5000, 1e-9);
  EXPECT_NEAR(state.value("gpu.utilisation").value(), 0.35, 1e-12);
  EXPECT_EQ(state.value("gpu.memory_used"),
            7);  // of the newer call, what the driver keeps left out
  EXPECT_EQ(state.value("gpu.throttle_reasons"), 4);
  EXPECT_EQ(state.value("gpu.throttle.power"), 17);
  EXPECT_EQ(state.value("gpu.xid"), 2);
  EXPECT_EQ(nvml.read("GPU-f").value("gpu.xid"), 2);  // since the probe was opened
  ASSERT_EQ(state.processes.size(), 2U);
  EXPECT_EQ(state.processes[0].pid, 4711);
  EXPECT_EQ(state.processes[0].memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(state.processes[1].memory_bytes, -1);
}

TEST(ManagementLibrary, KeepsTheReasonOfEveryRefusal) {
  Nvml nvml(ABBA_FAKE_NVML);
  const DeviceState state = nvml.read("GPU-f");
  EXPECT_FALSE(state.value("gpu.ecc.corrected").has_value());
  EXPECT_EQ(reading(state, "gpu.ecc.uncorrected")->problem, "not permitted");
  EXPECT_EQ(reading(state, "gpu.throttle.board_limit")->problem, "not supported by this device");
  const DeviceState other = nvml.read("GPU-of-somebody-else");
  EXPECT_THAT(other.processes_problem, HasSubstr("GPU-of-somebody-else"));
  EXPECT_FALSE(other.value("gpu.sm_clock").has_value());
}

TEST(ManagementLibrary, IsMissedInOneSentence) {
  Nvml nvml("libno-such-library.so.1");
  EXPECT_THAT(nvml.problem(), HasSubstr("libno-such-library.so.1 cannot be opened"));
  EXPECT_TRUE(nvml.devices().empty());
  EXPECT_THAT(nvml.read("GPU-f").processes_problem, HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace abba::host::testing
