#include "harness/host/device_probe.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace abba::host {
namespace {

// One system library, opened while this lives.
class Library {
 public:
  explicit Library(const char* name) : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* reason = ::dlerror();
      problem_ = name_ + " cannot be opened" + (reason ? std::string(": ") + reason : "");
    }
  }
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void set_problem(const std::string& problem) { problem_ = name_ + ": " + problem; }
  // Calls function `symbol`; -1 if it is not there.
  template <typename... Args>
  int call(const char* symbol, Args... args) const {
    void* address = handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
    if (address == nullptr) return -1;
    return reinterpret_cast<int (*)(Args...)>(address)(args...);
  }

 private:
  std::string name_;
  void* handle_;
  std::string problem_;
};

std::string dotted(int major, int minor) {
  return major < 0 ? std::string() : std::to_string(major) + "." + std::to_string(minor);
}

struct NvmlMemory {  // total, free, used
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

Device nvml_device(const Library& nvml, unsigned index, const std::string& driver) {
  Device device;
  device.source = "nvml";
  device.ordinal = static_cast<int>(index);
  device.driver_version = driver;
  void* handle = nullptr;
  if (nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &handle) != 0) return device;
  std::array<char, 128> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (nvml.call("nvmlDeviceGetUUID", handle, text.data(), size) == 0) device.uuid = text.data();
  if (nvml.call("nvmlDeviceGetName", handle, text.data(), size) == 0) device.name = text.data();
  NvmlMemory memory;
  if (nvml.call("nvmlDeviceGetMemoryInfo", handle, &memory) == 0) {
    device.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  int major = -1;
  int minor = 0;
  nvml.call("nvmlDeviceGetCudaComputeCapability", handle, &major, &minor);
  device.compute_capability = dotted(major, minor);
  return device;
}

void add_nvml(Library& nvml, std::vector<Device>& devices) {
  const int status = nvml.call("nvmlInit_v2");
  if (status != 0) {
    nvml.set_problem("nvmlInit_v2 gives " + std::to_string(status));
    return;
  }
  std::array<char, 128> driver{};
  nvml.call("nvmlSystemGetDriverVersion", driver.data(), static_cast<unsigned>(driver.size()));
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) devices.push_back(nvml_device(nvml, i, driver.data()));
  nvml.call("nvmlShutdown");
}

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

Device driver_device(const Library& cuda, int ordinal, const std::string& version) {
  constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76;  // CUdevice_attribute
  Device device;
  device.source = "driver";
  device.ordinal = ordinal;
  device.driver_version = version;
  int handle = 0;
  if (cuda.call("cuDeviceGet", &handle, ordinal) != 0) return device;
  std::array<char, 128> name{};
  if (cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), handle) == 0) {
    device.name = name.data();
  }
  std::array<unsigned char, 16> uuid{};
  if (cuda.call("cuDeviceGetUuid_v2", uuid.data(), handle) == 0) device.uuid = uuid_text(uuid);
  int major = -1;
  int minor = 0;
  int multiprocessors = -1;
  cuda.call("cuDeviceGetAttribute", &major, kMajor, handle);
  cuda.call("cuDeviceGetAttribute", &minor, kMinor, handle);
  cuda.call("cuDeviceGetAttribute", &multiprocessors, kMultiprocessors, handle);
  device.compute_capability = dotted(major, minor);
  device.sm_count = multiprocessors;
  std::size_t bytes = 0;
  if (cuda.call("cuDeviceTotalMem_v2", &bytes, handle) == 0) {
    device.memory_bytes = static_cast<std::int64_t>(bytes);
  }
  return device;
}

void add_driver(Library& cuda, std::vector<Device>& devices) {
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

class SystemDeviceProbe final : public DeviceProbe {
 public:
  SystemDeviceProbe() : nvml_("libnvidia-ml.so.1"), cuda_("libcuda.so.1") {
    if (nvml_.is_open()) add_nvml(nvml_, devices_);
    if (cuda_.is_open()) add_driver(cuda_, devices_);
  }
  [[nodiscard]] std::vector<Device> devices() override { return devices_; }
  [[nodiscard]] std::vector<std::string> problems() override {
    std::vector<std::string> found;
    for (const Library* library : {&nvml_, &cuda_}) {
      if (!library->problem().empty()) found.push_back(library->problem());
    }
    return found;
  }

 private:
  Library nvml_;
  Library cuda_;
  std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<DeviceProbe> open_device_probe() {
  return std::make_unique<SystemDeviceProbe>();
}

std::vector<record::Identity> device_identity(DeviceProbe& probe) {
  std::vector<record::Identity> rows;
  for (const Device& device : probe.devices()) {
    const std::string source = device.source + "/" + std::to_string(device.ordinal);
    rows.push_back({source, "uuid", device.uuid});
    rows.push_back({source, "name", device.name});
    rows.push_back({source, "compute capability", device.compute_capability});
    if (device.sm_count >= 0) {
      rows.push_back({source, "multiprocessors", std::to_string(device.sm_count)});
    }
    rows.push_back({source, "memory bytes", std::to_string(device.memory_bytes)});
    rows.push_back({source, "driver", device.driver_version});
  }
  for (const std::string& problem : probe.problems()) {
    rows.push_back({"device", "unavailable", problem});
  }
  return rows;
}

}  // namespace abba::host
