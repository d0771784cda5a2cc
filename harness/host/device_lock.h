// A reservation of one device for one harness on this machine, honoured by every command that uses
// a device. Owns an advisory lock on a file that names its holder (pid, boot id, since when); the
// kernel drops the lock with the process, so a file that a dead harness left behind is stale and is
// taken over.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "harness/host/identity.h"

namespace abba::host {

// Where the lock files lie: one place for all users of the machine.
std::filesystem::path device_lock_folder();

class DeviceLock {
 public:
  // Throws Error(kPreflight) if another harness holds it, or the file cannot be made.
  DeviceLock(const std::filesystem::path& folder, const std::string& uuid,
             const std::string& since_utc, const SystemRoot& root = {});
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  // What a dead harness had left behind ("process 12 of an earlier boot, since ..."), or empty.
  [[nodiscard]] const std::string& stale() const { return stale_; }

 private:
  int file_ = -1;
  std::string path_;
  std::string stale_;
};

// "another harness (process 12, since ...)" if one holds the device now, else empty.
std::string device_holder(const std::filesystem::path& folder, const std::string& uuid);

}  // namespace abba::host
