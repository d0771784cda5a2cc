#include "harness/host/identity.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
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
  add(rows, "frequency", "boost", read_line(cpus / "cpufreq/boost"), cpus / "cpufreq/boost");
  const fs::path clock = root.sys / "devices/system/clocksource/clocksource0/current_clocksource";
  add(rows, "frequency", "clocksource", read_line(clock), clock);
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
  add(rows, "numa", "node0 CPUs", read_line(nodes / "node0/cpulist"), nodes / "node0/cpulist");
}

void add_kernel(Rows& rows, const SystemRoot& root) {
  add(rows, "kernel", "release", read_line(root.proc / "sys/kernel/osrelease"),
      root.proc / "sys/kernel/osrelease");
  add(rows, "kernel", "build", read_line(root.proc / "sys/kernel/version"),
      root.proc / "sys/kernel/version");
  add(rows, "kernel", "boot id", read_line(root.proc / "sys/kernel/random/boot_id"),
      root.proc / "sys/kernel/random/boot_id");
  add(rows, "kernel", "randomize_va_space", read_line(root.proc / "sys/kernel/randomize_va_space"),
      root.proc / "sys/kernel/randomize_va_space");
}

std::string container_hint(const SystemRoot& root) {
  std::error_code ignored;
  if (fs::exists(root.proc.parent_path() / ".dockerenv", ignored)) return "docker";
  const std::string groups = read_text(root.proc / "1/cgroup").value_or("");
  for (const char* hint : {"docker", "kubepods", "containerd", "lxc", "podman"}) {
    if (groups.find(hint) != std::string::npos) return hint;
  }
  return "no hint";
}

void add_system(Rows& rows, const SystemRoot& root) {
  std::optional<std::string> name;
  for (const std::string& line :
       base::split(read_text(root.etc / "os-release").value_or(""), '\n')) {
    if (line.rfind("PRETTY_NAME=", 0) == 0) name = line.substr(12);
  }
  if (name) name->erase(std::remove(name->begin(), name->end(), '"'), name->end());
  add(rows, "system", "distribution", name, root.etc / "os-release");
  rows.push_back({"system", "libc", std::string("glibc ") + ::gnu_get_libc_version()});
  rows.push_back({"system", "container", container_hint(root)});
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

Rows host_identity(const SystemRoot& root) {
  Rows rows;
  add_cpu(rows, root);
  add_frequency(rows, root);
  add_memory(rows, root);
  add_kernel(rows, root);
  add_system(rows, root);
  return rows;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "unknown";
}

}  // namespace abba::host
