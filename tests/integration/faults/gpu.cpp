// A stand-in for libcuda.so.1 and libnvidia-ml.so.1 in one: one idle device, which is gone while
// $ABBA_FAULTS holds the file device-gone. Each $ABBA_FAULTS has a device of its own, since a
// device is reserved for the whole machine. What is left out here abba reads as unreadable.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int the_device;

// Empty where no test set it.
std::string folder() {
  const char* set = std::getenv("ABBA_FAULTS");
  return set == nullptr ? "" : set;
}

// 0, or "the GPU is lost".
int status() {
  return !folder().empty() && ::access((folder() + "/device-gone").c_str(), F_OK) == 0 ? 15 : 0;
}

using Uuid = std::array<unsigned char, 16>;

// abba0000-0000-0000 and the 64-bit FNV-1a hash of the folder.
Uuid uuid() {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : folder()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  Uuid bytes = {0xab, 0xba};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[8 + i] = static_cast<unsigned char>(hash >> (56 - 8 * i));
  }
  return bytes;
}

// As NVML writes it: "GPU-", and hexadecimal digits in groups of 8, 4, 4, 4 and 12.
std::string uuid_text() {
  std::string text = "GPU";
  const Uuid bytes = uuid();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += (i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
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
  const Uuid found = uuid();
  std::memcpy(bytes, found.data(), found.size());
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
  std::snprintf(text, size, "%s", uuid_text().c_str());
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
