// Accelerators as the system libraries describe them, opened at run time so that the program starts
// anywhere. Each source speaks for itself; nothing is reconciled here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::host {

struct Device {
  std::string source;  // "nvml" or "driver"
  int ordinal = 0;
  std::string uuid;  // "GPU-..."
  std::string name;
  std::string compute_capability;  // "9.0", or empty
  std::int64_t sm_count = -1;
  std::int64_t memory_bytes = -1;
  std::string driver_version;
};

class DeviceProbe {
 public:
  virtual ~DeviceProbe() = default;
  // Every device of every source; empty if none.
  [[nodiscard]] virtual std::vector<Device> devices() = 0;
  // Per source, why it says nothing ("libcuda.so.1 cannot be opened: ..."); empty if all speak.
  [[nodiscard]] virtual std::vector<std::string> problems() = 0;
};

// Opens libnvidia-ml.so.1 and libcuda.so.1 if they are there. Creates no context on any device.
std::unique_ptr<DeviceProbe> open_device_probe();

class FakeDeviceProbe final : public DeviceProbe {
 public:
  FakeDeviceProbe(std::vector<Device> devices, std::vector<std::string> problems)
      : devices_(std::move(devices)), problems_(std::move(problems)) {}
  [[nodiscard]] std::vector<Device> devices() override { return devices_; }
  [[nodiscard]] std::vector<std::string> problems() override { return problems_; }

 private:
  std::vector<Device> devices_;
  std::vector<std::string> problems_;
};

// As identity rows: source "nvml/0" and "driver/0", and one per problem.
std::vector<record::Identity> device_identity(DeviceProbe& probe);

}  // namespace abba::host
