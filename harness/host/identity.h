// Which machine this is, from every source that can be read; disagreements are kept as data. What
// cannot be read is an entry too, with the reason as its value ("unreadable: ...").
#pragma once

#include <filesystem>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::host {

// Where the system's files are; tests point it at a folder of their own.
struct SystemRoot {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
  std::filesystem::path etc = "/etc";
};

// Sources: "cpu" (first processor's fields, count, flags), "frequency" (driver, governor, boost),
// "memory", "numa", "kernel" (release, command line, boot id), "system" (distribution, libc,
// container and virtual machine hints).
std::vector<record::Identity> host_identity(const SystemRoot& root = {});

// The host's name: private, stored apart so that it can be redacted.
std::string host_name();

}  // namespace abba::host
