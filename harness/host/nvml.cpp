#include "harness/host/nvml.h"

#include <array>
#include <cstdint>

namespace abba::host {
namespace {

// Layouts and numbers of the library's C interface, which is stable by version suffix.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct MemoryV2 {
  unsigned version = static_cast<unsigned>(sizeof(MemoryV2)) | (2U << 24U);
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct PciInfo {
  char bus_id_legacy[16] = {};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned pci_device_id = 0;
  unsigned pci_subsystem_id = 0;
  char bus_id[32] = {};
};
struct Utilisation {
  unsigned gpu = 0;
  unsigned memory = 0;
};
struct Violation {
  unsigned long long reference_us = 0;
  unsigned long long violation_ns = 0;
};
struct Process {
  unsigned pid = 0;
  unsigned long long memory_bytes = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
struct Event {
  void* device = nullptr;
  unsigned long long type = 0;
  unsigned long long data = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

constexpr int kTimeout = 10;
constexpr int kTooSmall = 7;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kCorrected = 0;
constexpr int kUncorrected = 1;
constexpr int kVolatileCount = 0;
constexpr unsigned long long kXidEvent = 0x8;

struct Policy {
  int number;
  const char* key;
};
constexpr Policy kPolicies[] = {{0, "gpu.throttle.power"},
                                {1, "gpu.throttle.thermal"},
                                {2, "gpu.throttle.sync_boost"},
                                {3, "gpu.throttle.board_limit"},
                                {5, "gpu.throttle.reliability"}};

constexpr double kMilli = 1e-3;

}  // namespace

Nvml::Nvml(const char* library) : library_(library) {
  if (!library_.is_open()) return;
  const int status = library_.call("nvmlInit_v2");
  initialised_ = status == 0;
  if (!initialised_) library_.set_problem("nvmlInit_v2 gives " + std::to_string(status));
}

Nvml::~Nvml() {
  if (events_ != nullptr) library_.call("nvmlEventSetFree", events_);
  if (initialised_) library_.call("nvmlShutdown");
}

std::vector<Device> Nvml::devices() const {
  std::vector<Device> devices;
  if (!initialised_) return devices;
  std::array<char, 128> text{};
  const auto size = static_cast<unsigned>(text.size());
  std::string driver;
  if (library_.call("nvmlSystemGetDriverVersion", text.data(), size) == 0) driver = text.data();
  unsigned count = 0;
  library_.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    Device device;
    device.source = "nvml";
    device.ordinal = static_cast<int>(i);
    device.driver_version = driver;
    void* handle = nullptr;
    if (library_.call("nvmlDeviceGetHandleByIndex_v2", i, &handle) == 0) {
      if (library_.call("nvmlDeviceGetUUID", handle, text.data(), size) == 0)
        device.uuid = text.data();
      if (library_.call("nvmlDeviceGetName", handle, text.data(), size) == 0)
        device.name = text.data();
      Memory memory;
      if (library_.call("nvmlDeviceGetMemoryInfo", handle, &memory) == 0)
        device.memory_bytes = static_cast<std::int64_t>(memory.total);
      int major = 0;
      int minor = 0;
      if (library_.call("nvmlDeviceGetCudaComputeCapability", handle, &major, &minor) == 0)
        device.compute_capability = std::to_string(major) + "." + std::to_string(minor);
      PciInfo pci;
      if (library_.call("nvmlDeviceGetPciInfo_v3", handle, &pci) == 0)
        device.pci_address = pci.bus_id;
    }
    devices.push_back(device);
  }
  return devices;
}

std::string Nvml::why(int status) const {
  if (status == kNoSymbol) return "not in this version of libnvidia-ml.so.1";
  switch (status) {
    case 3:
      return "not supported by this device";
    case 4:
      return "not permitted";
    case 15:
      return "the device is lost";
    default:
      return "libnvidia-ml.so.1 gives " + std::to_string(status);
  }
}

void* Nvml::handle_of(const std::string& uuid) {
  if (watched_ != nullptr && watched_uuid_ == uuid) return watched_;
  void* handle = nullptr;
  if (library_.call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &handle) != 0) return nullptr;
  watched_ = handle;
  watched_uuid_ = uuid;
  watch_xid(handle);
  return handle;
}

void Nvml::watch_xid(void* device) {
  if (events_ != nullptr) library_.call("nvmlEventSetFree", events_);
  events_ = nullptr;
  xids_ = 0;
  int status = library_.call("nvmlEventSetCreate", &events_);
  if (status == 0) status = library_.call("nvmlDeviceRegisterEvents", device, kXidEvent, events_);
  events_problem_ = status == 0 ? "" : why(status);
}

DeviceState Nvml::read(const std::string& uuid) {
  DeviceState state;
  void* device = initialised_ ? handle_of(uuid) : nullptr;
  if (device == nullptr) {
    const std::string reason =
        problem().empty() ? "libnvidia-ml.so.1 does not know " + uuid : problem();
    state.readings.push_back({"gpu.state", 0, "", reason});
    state.processes_problem = reason;
    return state;
  }
  read_whole(device, state);
  read_utilisation(device, state);
  read_memory(device, state);
  read_throttling(device, state);
  read_errors(device, state);
  read_xid(state);
  read_processes(device, state);
  return state;
}

void Nvml::read_whole(void* device, DeviceState& state) const {
  const auto add = [&](const char* key, int status, double value, const char* unit) {
    state.readings.push_back({key, value, unit, status == 0 ? "" : why(status)});
  };
  unsigned number = 0;
  int status = library_.call("nvmlDeviceGetClockInfo", device, kClockSm, &number);
  add("gpu.sm_clock", status, number, "MHz");
  status = library_.call("nvmlDeviceGetClockInfo", device, kClockMemory, &number);
  add("gpu.memory_clock", status, number, "MHz");
  status = library_.call("nvmlDeviceGetTemperature", device, 0, &number);
  add("gpu.temperature", status, number, "Celsius");
  status = library_.call("nvmlDeviceGetPowerUsage", device, &number);
  add("gpu.power", status, kMilli * number, "W");
  unsigned long long large = 0;
  status = library_.call("nvmlDeviceGetTotalEnergyConsumption", device, &large);
  add("gpu.energy", status, kMilli * static_cast<double>(large), "J");
}

void Nvml::read_utilisation(void* device, DeviceState& state) const {
  Utilisation rates;
  const int status = library_.call("nvmlDeviceGetUtilizationRates", device, &rates);
  state.readings.push_back(
      {"gpu.utilisation", rates.gpu / 100.0, "share", status == 0 ? "" : why(status)});
}

void Nvml::read_memory(void* device, DeviceState& state) const {
  MemoryV2 memory;
  int status = library_.call("nvmlDeviceGetMemoryInfo_v2", device, &memory);
  auto used = static_cast<double>(memory.used);
  if (status != 0) {  // an older library: `used` then holds what the driver keeps as well
    Memory old;
    status = library_.call("nvmlDeviceGetMemoryInfo", device, &old);
    used = static_cast<double>(old.used);
  }
  state.readings.push_back({"gpu.memory_used", used, "bytes", status == 0 ? "" : why(status)});
}

void Nvml::read_throttling(void* device, DeviceState& state) const {
  unsigned long long reasons = 0;
  int status = library_.call("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons);
  if (status == kNoSymbol) {
    status = library_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons);
  }
  state.readings.push_back({"gpu.throttle_reasons", static_cast<double>(reasons), "bits",
                            status == 0 ? "" : why(status)});
  for (const Policy& policy : kPolicies) {
    Violation violation;
    status = library_.call("nvmlDeviceGetViolationStatus", device, policy.number, &violation);
    state.readings.push_back({policy.key, static_cast<double>(violation.violation_ns), "ns",
                              status == 0 ? "" : why(status)});
  }
}

void Nvml::read_errors(void* device, DeviceState& state) const {
  for (const auto& [key, kind] : {std::pair{"gpu.ecc.corrected", kCorrected},
                                  std::pair{"gpu.ecc.uncorrected", kUncorrected}}) {
    unsigned long long count = 0;
    const int status =
        library_.call("nvmlDeviceGetTotalEccErrors", device, kind, kVolatileCount, &count);
    state.readings.push_back(
        {key, static_cast<double>(count), "errors", status == 0 ? "" : why(status)});
  }
}

void Nvml::read_xid(DeviceState& state) {
  while (events_problem_.empty()) {
    Event event;
    const int status = library_.call("nvmlEventSetWait_v2", events_, &event, 0U);
    if (status == kTimeout) break;  // none is waiting
    if (status != 0) events_problem_ = why(status);
    if (status == 0 && event.type == kXidEvent) ++xids_;
  }
  state.readings.push_back({"gpu.xid", xids_, "events", events_problem_});
}

void Nvml::read_processes(void* device, DeviceState& state) const {
  std::vector<Process> found(64);
  auto count = static_cast<unsigned>(found.size());
  int status =
      library_.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, found.data());
  if (status == kTooSmall) {
    found.resize(count + 64);
    count = static_cast<unsigned>(found.size());
    status = library_.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, found.data());
  }
  if (status != 0) {
    state.processes_problem = why(status);
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    const bool known = found[i].memory_bytes != ~0ULL;
    state.processes.push_back({static_cast<pid_t>(found[i].pid),
                               known ? static_cast<std::int64_t>(found[i].memory_bytes) : -1});
  }
}

}  // namespace abba::host
