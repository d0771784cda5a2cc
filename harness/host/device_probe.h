// Accelerators as the system describes them: the driver and NVML opened at run time so that the
// program starts anywhere, and the PCI bus as the kernel lists it. Each source speaks for itself;
// nothing is reconciled here. Tests replace the whole probe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/host/identity.h"
#include "harness/record/run_record.h"

namespace abba::host {

struct Device {
  std::string source;  // "driver", "nvml" or "pci"
  int ordinal = 0;
  std::string uuid;  // "GPU-..."; empty for "pci"
  std::string name;
  std::string compute_capability;  // "9.0", or empty
  std::int64_t sm_count = -1;
  std::int64_t memory_bytes = -1;
  std::string driver_version;
  std::string pci_address;  // "0000:18:00.0", or empty
  std::string numa_node;    // of the bus, or empty
};

struct DeviceReading {
  std::string key;  // "gpu.sm_clock", ...
  double value = 0;
  std::string unit;
  std::string problem;  // why it cannot be read; then value says nothing
};

struct DeviceProcess {
  pid_t pid = 0;
  std::int64_t memory_bytes = -1;
};

// What one device is doing at one moment. Keys, their units and what they count:
//   gpu.sm_clock, gpu.memory_clock (MHz) · gpu.temperature (Celsius) · gpu.power (W)
//   gpu.energy (J since the driver was loaded) · gpu.utilisation (share of the driver's last
//   window) gpu.memory_used (bytes, without what the driver keeps for itself) gpu.throttle_reasons
//   (the driver's bit set) · gpu.throttle.{power,thermal,...} (ns since then)
//   gpu.ecc.{corrected,uncorrected} (errors since then) · gpu.xid (seen since the probe was opened)
struct DeviceState {
  std::vector<DeviceReading> readings;
  std::vector<DeviceProcess> processes;  // with a compute context there
  std::string processes_problem;         // why they cannot be listed, or empty
  // Nothing if absent or unreadable.
  [[nodiscard]] std::optional<double> value(std::string_view key) const;
};

// Bits of gpu.throttle_reasons that mean heat.
inline constexpr std::uint64_t kThermalReasons = 0x20U | 0x40U;
// "power cap, thermal (software)" of the bits; "none" of 0.
std::string throttle_text(std::uint64_t reasons);

class DeviceProbe {
 public:
  virtual ~DeviceProbe() = default;
  // Every device of every source; empty if none.
  [[nodiscard]] virtual std::vector<Device> devices() = 0;
  // Per source, why it says nothing ("libcuda.so.1 cannot be opened: ..."); empty if all speak.
  [[nodiscard]] virtual std::vector<std::string> problems() = 0;
  // Of the device with that UUID, now. Never throws: what cannot be read says why.
  [[nodiscard]] virtual DeviceState read(const std::string& uuid) = 0;
};

// Opens libnvidia-ml.so.1 and libcuda.so.1 if they are there. Creates no context on any device.
std::unique_ptr<DeviceProbe> open_device_probe(const SystemRoot& root = {});

class FakeDeviceProbe final : public DeviceProbe {
 public:
  FakeDeviceProbe(std::vector<Device> devices, std::vector<std::string> problems)
      : devices_(std::move(devices)), problems_(std::move(problems)) {}
  [[nodiscard]] std::vector<Device> devices() override { return devices_; }
  [[nodiscard]] std::vector<std::string> problems() override { return problems_; }
  // `state`, or the next of `states` while there are any.
  [[nodiscard]] DeviceState read(const std::string& uuid) override;

  DeviceState state;
  std::vector<DeviceState> states;
  int reads = 0;
  std::string last_uuid;

 private:
  std::vector<Device> devices_;
  std::vector<std::string> problems_;
};

// As identity rows: source "nvml/0", "driver/0", "pci/0", and one per problem.
std::vector<record::Identity> device_identity(DeviceProbe& probe);

}  // namespace abba::host
