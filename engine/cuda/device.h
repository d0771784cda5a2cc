// What GPU there is, and if none can be used, why: one sentence that says what to do. The judgement
// is a pure function of what was found, tested without a GPU; find_device asks the runtime. Reads
// no environment: what hides devices is handed in by whoever reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace abba::cuda {

// The chip the kernels are compiled for; compute_90a code runs on no other.
inline constexpr int kComputeCapability = 90;

struct DeviceInfo {
  int index = 0;
  std::string name;            // "NVIDIA H200"
  std::string uuid;            // "GPU-..." as nvidia-smi prints it
  std::string pci_id;          // "0000:01:00.0"
  int compute_capability = 0;  // 90
  int sm_count = 0;
  std::size_t memory_bytes = 0;
  std::size_t free_bytes = 0;  // when asked
  int driver_version = 0;      // 13000: the CUDA version the driver speaks
  int runtime_version = 0;     // the one this program was built with
};

// What the runtime answered, step by step; a step after a failed one was not asked.
struct DeviceFindings {
  int driver_version = 0;  // 0: no driver
  int runtime_version = 0;
  int count_code = 0;  // of counting devices
  int count = 0;
  int index = 0;  // the one wanted
  int compute_capability = 0;
  bool is_prohibited = false;                  // compute mode
  int start_code = 0;                          // of starting work on it
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES, if set
};

// Empty if the device can be used.
std::string why_unavailable(const DeviceFindings& found);

struct DeviceAnswer {
  DeviceInfo info;          // as far as it was found
  std::string unavailable;  // empty if it can be used
};
// Makes device `index` the current one and starts work on it if that is possible.
DeviceAnswer find_device(int index, const std::optional<std::string>& visible_devices);

// Bytes of device memory in use and in all, by everybody: of the current device.
struct MemoryUse {
  std::size_t used_bytes = 0;
  std::size_t total_bytes = 0;
};
MemoryUse memory_use();

}  // namespace abba::cuda
