#include "harness/host/device_probe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "engine/base/text.h"
#include "harness/host/nvml.h"
#include "harness/host/proc_files.h"
#include "harness/host/system_library.h"

namespace abba::host {
namespace {

namespace fs = std::filesystem;

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

Device driver_device(const SystemLibrary& cuda, int ordinal, const std::string& version) {
  constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76;  // CUdevice_attribute
  Device device;
  device.source = "driver";
  device.ordinal = ordinal;
  device.driver_version = version;
  int handle = 0;
  if (cuda.call("cuDeviceGet", &handle, ordinal) != 0) return device;
  std::array<char, 128> text{};
  const auto size = static_cast<int>(text.size());
  if (cuda.call("cuDeviceGetName", text.data(), size, handle) == 0) device.name = text.data();
  if (cuda.call("cuDeviceGetPCIBusId", text.data(), size, handle) == 0)
    device.pci_address = text.data();
  std::array<unsigned char, 16> uuid{};
  if (cuda.call("cuDeviceGetUuid_v2", uuid.data(), handle) == 0) device.uuid = uuid_text(uuid);
  int major = -1;
  int minor = 0;
  int multiprocessors = -1;
  cuda.call("cuDeviceGetAttribute", &major, kMajor, handle);
  cuda.call("cuDeviceGetAttribute", &minor, kMinor, handle);
  cuda.call("cuDeviceGetAttribute", &multiprocessors, kMultiprocessors, handle);
  if (major >= 0) device.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  device.sm_count = multiprocessors;
  std::size_t bytes = 0;
  if (cuda.call("cuDeviceTotalMem_v2", &bytes, handle) == 0) {
    device.memory_bytes = static_cast<std::int64_t>(bytes);
  }
  return device;
}

void add_driver(SystemLibrary& cuda, std::vector<Device>& devices) {
  const int status = cuda.call("cuInit", 0U);
  if (status != 0) {
    cuda.set_problem("cuInit gives " + std::to_string(status));
    return;
  }
  int version = 0;
  cuda.call("cuDriverGetVersion", &version);
  int count = 0;
  cuda.call("cuDeviceGetCount", &count);
  const std::string text =
      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  for (int i = 0; i < count; ++i) devices.push_back(driver_device(cuda, i, text));
}

// "00000000:18:00.0" (NVML) and "0000:18:00.0" (driver, kernel) are one address.
std::string short_address(std::string address) {
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto colon = address.find(':');
  return colon != std::string::npos && colon > 4 ? address.substr(colon - 4) : address;
}

// Of an address that another source named: the numbers that the bus itself gives.
std::optional<Device> pci_device(const SystemRoot& root, const std::string& address, int ordinal) {
  const fs::path folder = root.sys / "bus/pci/devices" / address;
  const auto vendor = read_line(folder / "vendor");
  const auto id = read_line(folder / "device");
  if (!vendor || !id) return std::nullopt;
  Device device;
  device.source = "pci";
  device.ordinal = ordinal;
  device.pci_address = address;
  device.name = *vendor + ":" + id->substr(id->rfind('x') + 1);
  const auto revision = read_line(folder / "revision");
  const auto subsystem = read_line(folder / "subsystem_device");
  const auto node = read_line(folder / "numa_node");
  if (revision) device.name += " revision " + *revision;
  if (subsystem) device.name += " subsystem " + *subsystem;
  if (node) device.numa_node = *node;
  return device;
}

class SystemDeviceProbe final : public DeviceProbe {
 public:
  explicit SystemDeviceProbe(const SystemRoot& root) : cuda_("libcuda.so.1") {
    devices_ = nvml_.devices();
    if (cuda_.is_open()) add_driver(cuda_, devices_);
    std::vector<Device> on_bus;
    for (Device& device : devices_) {
      device.pci_address = short_address(device.pci_address);
      const bool known = std::any_of(on_bus.begin(), on_bus.end(), [&](const Device& other) {
        return other.pci_address == device.pci_address;
      });
      if (known || device.pci_address.empty()) continue;
      auto found = pci_device(root, device.pci_address, static_cast<int>(on_bus.size()));
      if (found) on_bus.push_back(*std::move(found));
    }
    devices_.insert(devices_.end(), on_bus.begin(), on_bus.end());
  }
  [[nodiscard]] std::vector<Device> devices() override { return devices_; }
  [[nodiscard]] std::vector<std::string> problems() override {
    std::vector<std::string> found;
    for (const std::string* problem : {&nvml_.problem(), &cuda_.problem()}) {
      if (!problem->empty()) found.push_back(*problem);
    }
    return found;
  }
  [[nodiscard]] DeviceState read(const std::string& uuid) override { return nvml_.read(uuid); }

 private:
  Nvml nvml_;
  SystemLibrary cuda_;
  std::vector<Device> devices_;
};

}  // namespace

std::optional<double> DeviceState::value(std::string_view key) const {
  for (const DeviceReading& reading : readings) {
    if (reading.key == key && reading.problem.empty()) return reading.value;
  }
  return std::nullopt;
}

std::string throttle_text(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, const char*> kNames[] = {{0x1, "idle"},
                                                              {0x2, "application clocks"},
                                                              {0x4, "power cap"},
                                                              {0x8, "hardware slowdown"},
                                                              {0x10, "sync boost"},
                                                              {0x20, "thermal (software)"},
                                                              {0x40, "thermal (hardware)"},
                                                              {0x80, "power brake"},
                                                              {0x100, "display clocks"}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) names.emplace_back(name);
  }
  return names.empty() ? "none" : base::join(names, ", ");
}

std::unique_ptr<DeviceProbe> open_device_probe(const SystemRoot& root) {
  return std::make_unique<SystemDeviceProbe>(root);
}

DeviceState FakeDeviceProbe::read(const std::string& uuid) {
  ++reads;
  last_uuid = uuid;
  if (states.empty()) return state;
  DeviceState next = states.front();
  states.erase(states.begin());
  return next;
}

std::vector<record::Identity> device_identity(DeviceProbe& probe) {
  std::vector<record::Identity> rows;
  for (const Device& device : probe.devices()) {
    const std::string source = device.source + "/" + std::to_string(device.ordinal);
    const auto put = [&](const char* key, const std::string& value) {
      if (!value.empty()) rows.push_back({source, key, value});
    };
    put("uuid", device.uuid);
    put("name", device.name);
    put("compute capability", device.compute_capability);
    if (device.sm_count >= 0) put("multiprocessors", std::to_string(device.sm_count));
    if (device.memory_bytes >= 0) put("memory bytes", std::to_string(device.memory_bytes));
    put("driver", device.driver_version);
    put("pci", device.pci_address);
    put("numa node", device.numa_node);
  }
  for (const std::string& problem : probe.problems()) {
    rows.push_back({"device", "unavailable", problem});
  }
  return rows;
}

}  // namespace abba::host
