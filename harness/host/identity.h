// Which machine this is, from every source that can be read; disagreements are kept as data. What
// cannot be read is an entry too, with the reason as its value ("unreadable: ...").
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::host {

// Where the system's files are; tests point it at a folder of their own.
struct SystemRoot {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
  std::filesystem::path etc = "/etc";
};

// The value of an environment variable, or nothing.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> environment_variable(const std::string& name);

// Sources: "cpu" (first processor's fields, count, flags), "frequency" (driver, governor, boost),
// "memory", "numa" (every node), "kernel" (release, command line, boot id), "system" (distribution,
// libc, container and virtual machine hints), "cgroup" (what this process may use), "reservation"
// (what a job scheduler says it gave out).
std::vector<record::Identity> host_identity(const SystemRoot& root = {},
                                            const Variables& variables = environment_variable);

// The host's name: private, stored apart so that it can be redacted.
std::string host_name();

}  // namespace abba::host
