// The few files of /proc and /sys that the host layer reads, as numbers. Every reader answers
// nothing instead of throwing when a file is absent or has another form.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/host/identity.h"

namespace abba::host {

// First line, or whole text, without the newline at the end; nothing if unreadable.
std::optional<std::string> read_line(const std::filesystem::path& file);
std::optional<std::string> read_text(const std::filesystem::path& file);
std::optional<std::int64_t> read_whole(const std::filesystem::path& file);

struct CpuTimes {  // since boot
  std::int64_t busy_ns = 0;
  std::int64_t steal_ns = 0;
};
// By CPU number, from /proc/stat; empty if unreadable.
std::map<int, CpuTimes> read_cpu_times(const SystemRoot& root);
// Length of one unit of those counters.
std::int64_t cpu_tick_ns();

struct ProcessUsage {  // since the process started, over all its threads
  int threads = 0;
  std::int64_t cpu_ns = -1;
  std::int64_t waited_ns = -1;  // ready, not running
  std::int64_t switches_involuntary = -1;
  std::int64_t switches_voluntary = -1;
  std::int64_t migrations = -1;
  std::int64_t minor_faults = -1;
  std::int64_t major_faults = -1;
};
// Nothing if the process is gone.
std::optional<ProcessUsage> read_process_usage(const SystemRoot& root, pid_t pid);

// CPU time of this process's children that have ended and been waited for, with theirs; -1 if
// unreadable. Its parts are rounded to cpu_tick_ns().
std::int64_t read_children_cpu_ns(const SystemRoot& root);

struct RunningProcess {
  pid_t pid = 0;
  std::string name;  // as the kernel has it, at most 15 bytes
};
// Processes that are running or ready at this moment, last on one of `cpus`.
std::vector<RunningProcess> read_running(const SystemRoot& root, const std::vector<int>& cpus);

std::vector<pid_t> read_threads(const SystemRoot& root, pid_t pid);

// "Key:   value" lines, first stanza only.
std::vector<std::pair<std::string, std::string>> read_fields(const std::filesystem::path& file);

}  // namespace abba::host
