// A stand-in for libcuda.so.1 and libnvidia-ml.so.1 in one: one idle device, which is gone while
// $ABBA_FAULTS holds the file device-gone. What is left out here abba reads as unreadable.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr const char* kUuid = "GPU-abba0000-0000-0000-0000-000000000001";
int the_device;

// 0, or "the GPU is lost".
int status() {
  const char* folder = std::getenv("ABBA_FAULTS");
  const bool gone =
      folder != nullptr && ::access((std::string(folder) + "/device-gone").c_str(), F_OK) == 0;
  return gone ? 15 : 0;
}

struct Utilization {
  unsigned int gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

extern "C" {

int cuInit(unsigned int) {
  return status() == 0 ? 0 : 100;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "fake");
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  const unsigned char uuid[16] = {0xab, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::memcpy(bytes, uuid, sizeof uuid);
  return 0;
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = 9;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = 1U << 30U;
  return 0;
}

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 1;
  return status();
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int, void** device) {
  *device = &the_device;
  return status();
}
int nvmlDeviceGetHandleByUUID(const char*, void** device) {
  *device = &the_device;
  return status();
}
int nvmlDeviceGetUUID(void*, char* text, unsigned int size) {
  std::snprintf(text, size, "%s", kUuid);
  return status();
}
int nvmlDeviceGetName(void*, char* text, unsigned int size) {
  std::snprintf(text, size, "fake");
  return status();
}
int nvmlDeviceGetTemperature(void*, int, unsigned int* celsius) {
  *celsius = 40;
  return status();
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) {
  *rates = {0, 0};
  return status();
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {1U << 30U, 1U << 30U, 0};
  return status();
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, void*) {
  *count = 0;
  return status();
}

}  // extern "C"
