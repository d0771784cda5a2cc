#include "engine/cuda/device.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string hidden_text(const DeviceFindings& found) {
  if (!found.visible_devices) return "";
  return "; CUDA_VISIBLE_DEVICES is \"" + *found.visible_devices +
         "\": unset it or name a device that nvidia-smi -L lists";
}

std::string why_not_counted(const DeviceFindings& found) {
  switch (found.count_code) {
    case cudaErrorInsufficientDriver:
      return "the driver speaks CUDA " + version_text(found.driver_version) +
             " and this program needs " + version_text(found.runtime_version) +
             ": install a newer driver";
    case cudaErrorNoDevice:
      return "no GPU is visible" + (found.visible_devices
                                        ? hidden_text(found)
                                        : std::string(": nvidia-smi should list one"));
    case cudaErrorSystemDriverMismatch:
      return "the loaded kernel driver and the user libraries are of different versions: restart "
             "the machine or reinstall the driver";
    default:
      return "counting GPUs failed: " + error_text(found.count_code) + hidden_text(found);
  }
}

std::string why_not_started(const DeviceFindings& found) {
  const std::string device = "GPU " + std::to_string(found.index);
  switch (found.start_code) {
    case cudaErrorDevicesUnavailable:
      return device +
             " is busy in exclusive mode: end the process that holds it (nvidia-smi) or "
             "choose another";
    case cudaErrorMemoryAllocation:
      return device +
             " has no memory left for a new process: end what else runs on it "
             "(nvidia-smi)";
    default:
      return "starting work on " + device + " failed: " + error_text(found.start_code);
  }
}

DeviceFindings count_devices(int index, const std::optional<std::string>& visible_devices) {
  DeviceFindings found;
  found.index = index;
  found.visible_devices = visible_devices;
  cudaRuntimeGetVersion(&found.runtime_version);
  cudaDriverGetVersion(&found.driver_version);
  if (found.driver_version != 0) found.count_code = cudaGetDeviceCount(&found.count);
  cudaGetLastError();
  return found;
}

std::string uuid_text(const unsigned char (&bytes)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

void read_properties(DeviceInfo& info, DeviceFindings& found) {
  cudaDeviceProp properties{};
  found.start_code = cudaGetDeviceProperties(&properties, found.index);
  if (found.start_code != cudaSuccess) return;
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(properties.uuid.bytes[i]);
  char pci[32] = "";
  cudaDeviceGetPCIBusId(pci, sizeof pci, found.index);
  int mode = cudaComputeModeDefault;
  cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, found.index);
  info.name = properties.name;
  info.uuid = uuid_text(bytes);
  info.pci_id = pci;
  info.compute_capability = properties.major * 10 + properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  found.compute_capability = info.compute_capability;
  found.is_prohibited = mode == cudaComputeModeProhibited;
}

// A request is short: waiting for it may take a core.
void start(DeviceInfo& info, DeviceFindings& found) {
  found.start_code = cudaSetDevice(found.index);
  if (found.start_code == cudaSuccess) cudaSetDeviceFlags(cudaDeviceScheduleSpin);
  std::size_t total_bytes = 0;
  if (found.start_code == cudaSuccess) found.start_code = cudaFree(nullptr);  // makes the context
  if (found.start_code == cudaSuccess) {
    found.start_code = cudaMemGetInfo(&info.free_bytes, &total_bytes);
  }
  cudaGetLastError();
}

}  // namespace

std::string why_unavailable(const DeviceFindings& found) {
  if (found.driver_version == 0) {
    return "no NVIDIA driver is loaded on this machine: install one that speaks CUDA " +
           version_text(found.runtime_version) + " or newer, or use the backend \"cpu\"";
  }
  if (found.count_code != 0) return why_not_counted(found);
  if (found.count == 0) {
    return "no GPU is visible" + hidden_text(found);
  }
  if (found.index < 0 || found.index >= found.count) {
    return "there is no GPU " + std::to_string(found.index) + ": " + std::to_string(found.count) +
           " visible, numbered from 0" + hidden_text(found);
  }
  const std::string device = "GPU " + std::to_string(found.index);
  if (found.is_prohibited) {
    return device +
           " is in the compute mode \"prohibited\": nvidia-smi -c DEFAULT lets programs "
           "use it";
  }
  if (found.compute_capability != 0 && found.compute_capability != kComputeCapability) {
    return device + " is an sm_" + std::to_string(found.compute_capability) +
           " and the kernels of this program are compiled for sm_" +
           std::to_string(kComputeCapability) + "a alone: use the backend \"cpu\"";
  }
  return found.start_code != 0 ? why_not_started(found) : "";
}

DeviceAnswer find_device(int index, const std::optional<std::string>& visible_devices) {
  DeviceFindings found = count_devices(index, visible_devices);
  DeviceAnswer answer;
  answer.info.index = index;
  answer.info.driver_version = found.driver_version;
  answer.info.runtime_version = found.runtime_version;
  if (why_unavailable(found).empty()) read_properties(answer.info, found);
  if (why_unavailable(found).empty()) start(answer.info, found);
  answer.unavailable = why_unavailable(found);
  return answer;
}

MemoryUse memory_use() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
  return {total_bytes - free_bytes, total_bytes};
}

}  // namespace abba::cuda
