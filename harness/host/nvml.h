// The driver's management library: who its devices are and what they are doing. Owned by the system
// probe; initialised while it lives. Every reading that it refuses keeps the reason.
#pragma once

#include <string>
#include <vector>

#include "harness/host/device_probe.h"
#include "harness/host/system_library.h"

namespace abba::host {

class Nvml {
 public:
  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] const std::string& problem() const { return library_.problem(); }
  [[nodiscard]] std::vector<Device> devices() const;
  [[nodiscard]] DeviceState read(const std::string& uuid);

 private:
  [[nodiscard]] std::string why(int status) const;
  void* handle_of(const std::string& uuid);
  void read_whole(void* device, DeviceState& state) const;
  void read_utilisation(void* device, DeviceState& state) const;
  void read_memory(void* device, DeviceState& state) const;
  void read_throttling(void* device, DeviceState& state) const;
  void read_errors(void* device, DeviceState& state) const;
  void read_processes(void* device, DeviceState& state) const;
  void read_xid(DeviceState& state);
  void watch_xid(void* device);

  SystemLibrary library_;
  bool initialised_ = false;
  std::string watched_uuid_;  // whose handle and event set these are
  void* watched_ = nullptr;
  void* events_ = nullptr;
  std::string events_problem_;
  double xids_ = 0;
};

}  // namespace abba::host
