#include "harness/host/identity.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "engine/base/text.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<record::Identity>;

void add(Rows& rows, const char* source, const std::string& key,
         const std::optional<std::string>& value, const fs::path& from) {
  const std::string missing = "unreadable: " + from.string() + " cannot be read";
  rows.push_back({source, key, value.value_or(missing)});
}

// Every field of the first processor, whatever the kernel calls it, but those that differ from
// moment to moment or from processor to processor.
void add_cpu(Rows& rows, const SystemRoot& root) {
  static const std::set<std::string> kPerProcessor = {
      "processor", "cpu MHz", "core id", "apicid", "initial apicid", "physical id", "bogomips"};
  const auto fields = read_fields(root.proc / "cpuinfo");
  if (fields.empty()) add(rows, "cpu", "fields", std::nullopt, root.proc / "cpuinfo");
  for (const auto& [key, value] : fields) {
    if (kPerProcessor.count(key) == 0) rows.push_back({"cpu", key, value});
  }
  const fs::path cpus = root.sys / "devices/system/cpu";
  add(rows, "cpu", "online", read_line(cpus / "online"), cpus / "online");
  const fs::path smt = cpus / "smt/active";
  add(rows, "cpu", "simultaneous multithreading", read_line(smt), smt);
}

void add_frequency(Rows& rows, const SystemRoot& root) {
  const fs::path cpus = root.sys / "devices/system/cpu";
  for (const char* key : {"scaling_driver", "scaling_governor", "scaling_max_freq"}) {
    add(rows, "frequency", key, read_line(cpus / "cpu0/cpufreq" / key),
        cpus / "cpu0/cpufreq" / key);
  }
  const auto no_turbo = read_line(cpus / "intel_pstate/no_turbo");  // where that driver rules
  const auto boost = read_line(cpus / "cpufreq/boost");
  const std::optional<std::string> turbo =
      no_turbo ? std::optional<std::string>(*no_turbo == "0" ? "1" : "0") : std::nullopt;
  add(rows, "frequency", "boost", boost ? boost : turbo, cpus / "cpufreq/boost");
  const fs::path clock = root.sys / "devices/system/clocksource/clocksource0/current_clocksource";
  add(rows, "frequency", "clocksource", read_line(clock), clock);
}

void add_numa_nodes(Rows& rows, const fs::path& nodes) {
  constexpr int kMostNodes = 64;
  for (int node = 0; node < kMostNodes; ++node) {
    const std::string name = "node" + std::to_string(node);
    const auto cpus = read_line(nodes / name / "cpulist");
    if (!cpus && node > 0) break;
    add(rows, "numa", name + " CPUs", cpus, nodes / name / "cpulist");
    const auto distance = read_line(nodes / name / "distance");
    if (distance) rows.push_back({"numa", name + " distances", *distance});
  }
}

void add_memory(Rows& rows, const SystemRoot& root) {
  const fs::path file = root.proc / "meminfo";
  std::optional<std::string> total;
  std::optional<std::string> huge;
  for (const auto& [key, value] : read_fields(file)) {
    if (key == "MemTotal") total = value;
    if (key == "Hugepagesize") huge = value;
  }
  add(rows, "memory", "total", total, file);
  add(rows, "memory", "huge page", huge, file);
  const fs::path transparent = root.sys / "kernel/mm/transparent_hugepage/enabled";
  add(rows, "memory", "transparent huge pages", read_line(transparent), transparent);
  const fs::path nodes = root.sys / "devices/system/node";
  add(rows, "numa", "nodes", read_line(nodes / "online"), nodes / "online");
  add_numa_nodes(rows, nodes);
}

void add_kernel(Rows& rows, const SystemRoot& root) {
  add(rows, "kernel", "release", read_line(root.proc / "sys/kernel/osrelease"),
      root.proc / "sys/kernel/osrelease");
  add(rows, "kernel", "build", read_line(root.proc / "sys/kernel/version"),
      root.proc / "sys/kernel/version");
  add(rows, "kernel", "command line", read_line(root.proc / "cmdline"), root.proc / "cmdline");
  add(rows, "kernel", "boot id", read_line(root.proc / "sys/kernel/random/boot_id"),
      root.proc / "sys/kernel/random/boot_id");
  add(rows, "kernel", "randomize_va_space", read_line(root.proc / "sys/kernel/randomize_va_space"),
      root.proc / "sys/kernel/randomize_va_space");
}

std::string container_hint(const SystemRoot& root, const Variables& variables) {
  std::error_code ignored;
  if (fs::exists(root.proc.parent_path() / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root.proc.parent_path() / "run/.containerenv", ignored)) return "podman";
  if (variables("KUBERNETES_SERVICE_HOST")) return "kubernetes";
  if (const auto named = variables("container")) return *named;
  const std::string groups = read_text(root.proc / "1/cgroup").value_or("");
  for (const char* hint : {"docker", "kubepods", "containerd", "lxc", "podman"}) {
    if (groups.find(hint) != std::string::npos) return hint;
  }
  return "no hint";
}

// Limits of the control group this process lives in; a quota below its CPUs stops workers in the
// middle of a request. Version 2 of the kernel's interface; elsewhere the files are not there.
void add_limits(Rows& rows, const SystemRoot& root) {
  std::string group = "/";
  for (const std::string& line :
       base::split(read_text(root.proc / "self/cgroup").value_or(""), '\n')) {
    if (line.rfind("0::/", 0) == 0) group = line.substr(3);
  }
  const fs::path folder = (root.sys / "fs/cgroup" / fs::path(group).relative_path());
  for (const char* file : {"cpu.max", "cpuset.cpus.effective", "memory.max"}) {
    add(rows, "cgroup", file, read_line(folder / file), folder / file);
  }
}

// What schedulers set for a job that they gave machines or devices to.
void add_reservation(Rows& rows, const Variables& variables) {
  constexpr const char* kOfJobs[] = {"SLURM_JOB_ID",   "SLURM_JOB_PARTITION", "SLURM_STEP_ID",
                                     "SLURM_JOB_GPUS", "PBS_JOBID",           "LSB_JOBID",
                                     "JOB_ID",         "FLUX_JOB_ID",         "COBALT_JOBID",
                                     "OAR_JOB_ID",     "BATCH_JOB_ID",        "AWS_BATCH_JOB_ID",
                                     "CI_JOB_ID",      "GITHUB_RUN_ID",       "ABBA_RESERVATION"};
  const std::size_t before = rows.size();
  for (const char* name : kOfJobs) {
    const auto value = variables(name);
    if (value && !value->empty()) rows.push_back({"reservation", name, *value});
  }
  if (rows.size() == before) {
    rows.push_back({"reservation", "job",
                    "unreadable: no variable of a scheduler is set; name one in ABBA_RESERVATION"});
  }
}

void add_system(Rows& rows, const SystemRoot& root, const Variables& variables) {
  std::optional<std::string> name;
  for (const std::string& line :
       base::split(read_text(root.etc / "os-release").value_or(""), '\n')) {
    if (line.rfind("PRETTY_NAME=", 0) == 0) name = line.substr(12);
  }
  if (name) name->erase(std::remove(name->begin(), name->end(), '"'), name->end());
  add(rows, "system", "distribution", name, root.etc / "os-release");
  rows.push_back({"system", "libc", std::string("glibc ") + ::gnu_get_libc_version()});
  rows.push_back({"system", "container", container_hint(root, variables)});
  const fs::path vendor = root.sys / "class/dmi/id/sys_vendor";
  add(rows, "system", "vendor", read_line(vendor), vendor);
  const fs::path product = root.sys / "class/dmi/id/product_name";
  add(rows, "system", "product", read_line(product), product);
  bool hypervisor = false;
  for (const auto& [key, value] : read_fields(root.proc / "cpuinfo")) {
    hypervisor = hypervisor || (key == "flags" && value.find("hypervisor") != std::string::npos);
  }
  rows.push_back({"system", "virtual machine", hypervisor ? "yes" : "no hint"});
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Rows host_identity(const SystemRoot& root, const Variables& variables) {
  Rows rows;
  add_cpu(rows, root);
  add_frequency(rows, root);
  add_memory(rows, root);
  add_kernel(rows, root);
  add_system(rows, root, variables);
  add_limits(rows, root);
  add_reservation(rows, variables);
  return rows;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "unknown";
}

}  // namespace abba::host
