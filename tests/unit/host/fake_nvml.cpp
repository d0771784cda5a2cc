// A stand-in for the driver's management library: the functions and struct layouts of its public C
// interface, with answers that a test expects. Device memory it can read; ECC it may not; one
// function is left out, as in an older version.
#include <cstdio>
#include <cstring>

extern "C" {

struct Utilization {
  unsigned int gpu, memory;
};
struct MemoryOld {
  unsigned long long total, free, used;
};
struct MemoryNew {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
struct ProcessInfo {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
};
struct ViolationTime {
  unsigned long long referenceTime, violationTime;
};
struct EventData {
  void* device;
  unsigned long long eventType, eventData;
  unsigned int gpuInstanceId, computeInstanceId;
};
struct PciInfo {
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};

enum { kGood = 0, kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kTimedOut = 10 };

static int the_device;
static int waiting_xids = 2;

int nvmlInit_v2() {
  return kGood;
}
int nvmlShutdown() {
  return kGood;
}
int nvmlSystemGetDriverVersion(char* text, unsigned int size) {
  std::snprintf(text, size, "580.1");
  return kGood;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 1;
  return kGood;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int, void** device) {
  *device = &the_device;
  return kGood;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &the_device;
  return std::strcmp(uuid, "GPU-f") == 0 ? kGood : kNotFound;
}
int nvmlDeviceGetUUID(void*, char* text, unsigned int size) {
  std::snprintf(text, size, "GPU-f");
  return kGood;
}
int nvmlDeviceGetName(void*, char* text, unsigned int size) {
  std::snprintf(text, size, "L20X");
  return kGood;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 8;
  *minor = 9;
  return kGood;
}
int nvmlDeviceGetPciInfo_v3(void*, PciInfo* info) {
  std::snprintf(info->busId, sizeof info->busId, "00000000:18:00.0");
  return kGood;
}
int nvmlDeviceGetMemoryInfo(void*, MemoryOld* memory) {
  *memory = {1000, 100, 900};
  return kGood;
}
int nvmlDeviceGetMemoryInfo_v2(void*, MemoryNew* memory) {
  if (memory->version != (sizeof(MemoryNew) | (2U << 24U))) return kNotSupported;
  memory->used = 7;
  return kGood;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned int* mhz) {
  *mhz = type == 1 ? 1980 : type == 2 ? 3201 : 0;
  return kGood;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned int* celsius) {
  *celsius = sensor == 0 ? 41 : 0;
  return kGood;
}
int nvmlDeviceGetPowerUsage(void*, unsigned int* milliwatts) {
  *milliwatts = 123'456;
  return kGood;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 5'000'000;
  return kGood;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) {
  *rates = {35, 2};
  return kGood;
}
// The newer name of the reasons is left out on purpose.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4;
  return kGood;
}
int nvmlDeviceGetViolationStatus(void*, int policy, ViolationTime* time) {
  time->violationTime = policy == 0 ? 17 : 0;
  return policy == 3 ? kNotSupported : kGood;
}
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long*) {
  return kNoPermission;
}
int nvmlEventSetCreate(void** set) {
  *set = &the_device;
  return kGood;
}
int nvmlEventSetFree(void*) {
  return kGood;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long types, void*) {
  return types == 8 ? kGood : kNotSupported;
}
int nvmlEventSetWait_v2(void*, EventData* event, unsigned int) {
  if (waiting_xids == 0) return kTimedOut;
  --waiting_xids;
  *event = {&the_device, 8, 79, 0, 0};
  return kGood;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, ProcessInfo* infos) {
  infos[0] = {4711, 1ULL << 30U, 0, 0};
  infos[1] = {4712, ~0ULL, 0, 0};
  *count = 2;
  return kGood;
}

}  // extern "C"
