// Loaded into abba (LD_PRELOAD) by the tests of faults: what a test cannot bring about otherwise.
// While a file of that name lies in $ABBA_FAULTS:
//   disk-full    writing to any regular file fails, as on a full disk
//   half-write   the next write to a run file's journal is cut in half and the process killed
//   boot-id      is read in place of the kernel's
//   clock-back   the date is a day earlier
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Workers inherit the preload and are left alone.
bool is_on(const char* fault) {
  const char* folder = std::getenv("ABBA_FAULTS");
  return folder != nullptr && std::strcmp(program_invocation_short_name, "abba") == 0 &&
         ::access((std::string(folder) + "/" + fault).c_str(), F_OK) == 0;
}

bool is_regular(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

bool is_journal(int file) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path - 1);
  return size > 4 && std::strcmp(path + size - 4, "-wal") == 0;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Whether the write is to fail; does not come back from one that is to be cut.
template <typename Write>
bool fails(int file, std::size_t size, const Write& write) {
  if (is_on("half-write") && is_journal(file)) {
    write(size / 2);
    ::raise(SIGKILL);
  }
  if (!is_regular(file) || !is_on("disk-full")) return false;
  errno = ENOSPC;
  return true;
}

const char* redirected(const char* path, std::string& other) {
  if (std::strcmp(path, "/proc/sys/kernel/random/boot_id") != 0 || !is_on("boot-id")) return path;
  other = std::string(std::getenv("ABBA_FAULTS")) + "/boot-id";
  return other.c_str();
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  const auto part = [&](size_t some) { return next(file, data, some); };
  return fails(file, size, part) ? -1 : next(file, data, size);
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  const auto part = [&](size_t some) { return next(file, data, some, offset); };
  return fails(file, size, part) ? -1 : next(file, data, size, offset);
}

FILE* fopen64(const char* path, const char* mode) {
  static const auto next = real<FILE* (*)(const char*, const char*)>("fopen64");
  std::string other;
  return next(redirected(path, other), mode);
}

FILE* fopen(const char* path, const char* mode) {
  static const auto next = real<FILE* (*)(const char*, const char*)>("fopen");
  std::string other;
  return next(redirected(path, other), mode);
}

time_t time(time_t* into) {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  static const auto next = real<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  const int status = next(clock, time);
  constexpr time_t kDay = 86'400;
  if (clock == CLOCK_REALTIME && is_on("clock-back")) time->tv_sec -= kDay;
  return status;
}

}  // extern "C"
