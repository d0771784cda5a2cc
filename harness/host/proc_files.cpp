#include "harness/host/proc_files.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "engine/base/text.h"

namespace abba::host {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> to_whole(std::string_view text) {
  std::int64_t value = 0;
  text = base::trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void add(std::int64_t& sum, std::optional<std::int64_t> part) {
  if (!part) return;
  sum = (sum < 0 ? 0 : sum) + *part;
}

// /proc/PID/task/TID/schedstat: time on a CPU, time waiting for one, both nanoseconds, and runs.
void add_schedstat(const fs::path& task, ProcessUsage& usage) {
  const auto line = read_line(task / "schedstat");
  if (!line) return;
  const std::vector<std::string> parts = base::split(*line, ' ');
  if (parts.size() < 2) return;
  add(usage.cpu_ns, to_whole(parts[0]));
  add(usage.waited_ns, to_whole(parts[1]));
}

void add_status(const fs::path& task, ProcessUsage& usage) {
  for (const auto& [key, value] : read_fields(task / "status")) {
    if (key == "voluntary_ctxt_switches") add(usage.switches_voluntary, to_whole(value));
    if (key == "nonvoluntary_ctxt_switches") add(usage.switches_involuntary, to_whole(value));
  }
  for (const auto& [key, value] : read_fields(task / "sched")) {
    if (key == "se.nr_migrations") add(usage.migrations, to_whole(value));
  }
}

// /proc/PID/stat after the command's closing parenthesis, which may itself hold spaces: field 3 on.
std::vector<std::string> stat_fields(const fs::path& process) {
  const auto line = read_line(process / "stat");
  if (!line) return {};
  const std::size_t close = line->rfind(')');
  if (close == std::string::npos || close + 2 > line->size()) return {};
  return base::split(line->substr(close + 2), ' ');
}

}  // namespace

std::optional<std::string> read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return std::nullopt;
  std::string result = text.str();
  while (!result.empty() && (result.back() == '\n' || result.back() == '\0')) result.pop_back();
  return result;
}

std::optional<std::string> read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!stream || !std::getline(stream, line)) return std::nullopt;
  return line;
}

std::optional<std::int64_t> read_whole(const fs::path& file) {
  const auto line = read_line(file);
  return line ? to_whole(*line) : std::nullopt;
}

std::int64_t cpu_tick_ns() {
  const long per_second = ::sysconf(_SC_CLK_TCK);
  return 1'000'000'000 / (per_second > 0 ? per_second : 100);
}

std::map<int, CpuTimes> read_cpu_times(const SystemRoot& root) {
  std::map<int, CpuTimes> times;
  std::ifstream stream(root.proc / "stat");
  std::string line;
  while (std::getline(stream, line)) {
    if (line.rfind("cpu", 0) != 0) break;
    std::istringstream words(line.substr(3));
    if (line.size() < 4 || line[3] == ' ') continue;  // the sum over CPUs
    int cpu = -1;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
    words >> cpu >> user >> nice >> system >> idle >> io >> irq >> soft;
    if (!words) continue;
    words >> steal;  // guest time is inside user already
    times[cpu] = {(user + nice + system + irq + soft) * cpu_tick_ns(), steal * cpu_tick_ns()};
  }
  return times;
}

std::vector<RunningProcess> read_running(const SystemRoot& root, const std::vector<int>& cpus) {
  constexpr std::size_t kState = 0;       // after the name, which is in parentheses
  constexpr std::size_t kProcessor = 36;  // proc(5) counts it as field 39
  std::vector<RunningProcess> found;
  std::error_code error;
  for (fs::directory_iterator it(root.proc, error), end; !error && it != end; it.increment(error)) {
    const std::string number = it->path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = read_line(it->path() / "stat").value_or("");
    const std::size_t open = line.find('(');
    const std::size_t close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 2 > line.size())
      continue;
    const auto fields = base::split(line.substr(close + 2), ' ');
    if (fields.size() <= kProcessor || fields[kState] != "R") continue;
    const int cpu = static_cast<int>(to_whole(fields[kProcessor]).value_or(-1));
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) continue;
    found.push_back({static_cast<pid_t>(to_whole(number).value_or(0)),
                     line.substr(open + 1, close - open - 1)});
  }
  return found;
}

std::vector<pid_t> read_threads(const SystemRoot& root, pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  const fs::path folder = root.proc / std::to_string(pid) / "task";
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto thread = to_whole(it->path().filename().string());
    if (thread) threads.push_back(static_cast<pid_t>(*thread));
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::optional<ProcessUsage> read_process_usage(const SystemRoot& root, pid_t pid) {
  const fs::path process = root.proc / std::to_string(pid);
  const std::vector<std::string> stat = stat_fields(process);
  constexpr std::size_t kMinorFaults = 7, kMajorFaults = 9, kUser = 11, kSystem = 12;
  if (stat.size() <= kSystem) return std::nullopt;
  ProcessUsage usage;
  for (const pid_t thread : read_threads(root, pid)) {
    const fs::path task = process / "task" / std::to_string(thread);
    ++usage.threads;
    add_schedstat(task, usage);
    add_status(task, usage);
  }
  add(usage.minor_faults, to_whole(stat[kMinorFaults]));
  add(usage.major_faults, to_whole(stat[kMajorFaults]));
  if (usage.cpu_ns < 0) {
    add(usage.cpu_ns, to_whole(stat[kUser]));
    add(usage.cpu_ns, to_whole(stat[kSystem]));
    if (usage.cpu_ns >= 0) usage.cpu_ns *= cpu_tick_ns();
  }
  return usage;
}

std::int64_t read_children_cpu_ns(const SystemRoot& root) {
  const std::vector<std::string> stat = stat_fields(root.proc / "self");
  constexpr std::size_t kChildrenUser = 13, kChildrenSystem = 14;
  if (stat.size() <= kChildrenSystem) return -1;
  const auto user = to_whole(stat[kChildrenUser]);
  const auto system = to_whole(stat[kChildrenSystem]);
  return user && system ? (*user + *system) * cpu_tick_ns() : -1;
}

std::vector<std::pair<std::string, std::string>> read_fields(const fs::path& file) {
  std::vector<std::pair<std::string, std::string>> fields;
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const std::size_t colon = line.find(':');
    if (line.empty() && !fields.empty()) break;
    if (colon == std::string::npos) continue;
    fields.emplace_back(std::string(base::trim(std::string_view(line).substr(0, colon))),
                        std::string(base::trim(std::string_view(line).substr(colon + 1))));
  }
  return fields;
}

}  // namespace abba::host
