#include "harness/host/doctor.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "engine/base/text.h"
#include "harness/host/affinity.h"
#include "harness/host/clock.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

namespace fs = std::filesystem;

Finding cpus_finding() {
  const std::vector<int> allowed = allowed_cpus();
  const CpuSplit split = split_cpus({}, allowed);
  Finding finding{"cpus", Health::kGood, "", ""};
  finding.text = "allowed " + cpu_list_text(allowed) + "; workers get " +
                 cpu_list_text(split.worker) + ", the harness " + cpu_list_text(split.harness);
  if (split.shared) {
    finding.health = Health::kLimited;
    finding.advice = "one CPU serves worker and harness: timings carry the harness's own load";
  } else if (allowed.size() == 2) {
    finding.health = Health::kLimited;
    finding.advice = "two CPUs: use one compute thread a worker";
  }
  return finding;
}

Finding git_finding() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      ::popen("git --version 2>/dev/null", "r"), &::pclose);
  std::array<char, 128> line{};
  const bool found = pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr;
  if (found) return {"git", Health::kGood, std::string(base::trim(line.data())), ""};
  return {"git", Health::kMissing, "git cannot be started",
          "install git to freeze source trees; runs work without it"};
}

Finding disk_finding(const fs::path& folder) {
  constexpr std::int64_t kEnoughBytes = std::int64_t{1} << 30U;
  const std::int64_t bytes = free_bytes(folder);
  if (bytes < 0) {
    return {"disk", Health::kMissing, folder.string() + " cannot be examined",
            "create the folder or name another"};
  }
  const std::string text = std::to_string(bytes >> 20U) + " MiB free in " + folder.string();
  if (bytes < kEnoughBytes) return {"disk", Health::kLimited, text, "free some space"};
  return {"disk", Health::kGood, text, ""};
}

Finding frequency_finding(const SystemRoot& root) {
  const fs::path folder = root.sys / "devices/system/cpu/cpu0/cpufreq";
  const auto governor = read_line(folder / "scaling_governor");
  if (!governor) {
    return {"frequency", Health::kLimited, "the CPU's frequency and governor cannot be read",
            "usual in virtual machines: rely on fresh passes and balanced order"};
  }
  if (*governor == "performance") return {"frequency", Health::kGood, "governor performance", ""};
  return {"frequency", Health::kLimited, "governor " + *governor,
          "set the governor to performance for steadier clocks"};
}

Finding clock_finding(const SystemRoot& root) {
  SystemClock clock;
  const double cost_ns = clock_read_cost_ns(clock);
  const auto source =
      read_line(root.sys / "devices/system/clocksource/clocksource0/current_clocksource");
  char cost[32];
  std::snprintf(cost, sizeof cost, "%.0f ns a read", cost_ns);
  Finding finding{"clock", Health::kGood, source.value_or("source unknown") + ", " + cost, ""};
  constexpr double kSlowNs = 500;
  if (cost_ns > kSlowNs) {
    finding.health = Health::kLimited;
    finding.advice = "a slow clock: avoid requests under 100 microseconds";
  }
  return finding;
}

std::vector<Finding> device_findings(DeviceProbe& probe) {
  std::vector<Finding> findings;
  for (const Device& device : probe.devices()) {
    findings.push_back({"device", Health::kGood,
                        device.source + " " + std::to_string(device.ordinal) + ": " + device.name +
                            " " + device.uuid + ", driver " + device.driver_version,
                        ""});
  }
  for (const std::string& problem : probe.problems()) {
    findings.push_back(
        {"device", Health::kMissing, problem,
         "install the NVIDIA driver to measure on a GPU; CPU experiments need none"});
  }
  return findings;
}

Finding counters_finding(const SystemRoot& root) {
  const auto usage = read_process_usage(root, ::getpid());
  if (usage && usage->waited_ns >= 0) {
    return {"counters", Health::kGood, "per-thread run and wait times are exact", ""};
  }
  return {"counters", Health::kLimited, "only 10 ms CPU counters are readable",
          "short slots cannot be judged for foreign load; use slots of a second"};
}

}  // namespace

std::int64_t free_bytes(const fs::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return -1;
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

std::vector<Finding> doctor(const fs::path& folder, DeviceProbe& probe, const SystemRoot& root) {
  std::vector<Finding> findings = {cpus_finding(),       frequency_finding(root),
                                   clock_finding(root),  counters_finding(root),
                                   disk_finding(folder), git_finding()};
  for (Finding& finding : device_findings(probe)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace abba::host
