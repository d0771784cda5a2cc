// What this machine offers an experiment, and why not: the data behind `abba doctor`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/host/device_probe.h"
#include "harness/host/identity.h"

namespace abba::host {

enum class Health { kGood, kLimited, kMissing };

struct Finding {
  std::string topic;  // "cpus", "disk", "git", "device", "frequency", "clock", "affinity", ...
  Health health = Health::kGood;
  std::string text;    // what was found
  std::string advice;  // what to do, or empty
};

// `folder`: where results would be written.
std::vector<Finding> doctor(const std::filesystem::path& folder, DeviceProbe& probe,
                            const SystemRoot& root = {});

// Bytes free for us on the file system of `folder`, or -1.
std::int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace abba::host
