#include "harness/host/affinity.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/host/proc_files.h"

namespace abba::host {
namespace {

using base::Error;
using base::ErrorCode;

constexpr int kMostCpus = 4096;

// A kernel CPU mask large enough for any machine.
class CpuMask {
 public:
  CpuMask() : set_(CPU_ALLOC(kMostCpus)), size_(CPU_ALLOC_SIZE(kMostCpus)) {
    CPU_ZERO_S(size_, set_);
  }
  explicit CpuMask(const std::vector<int>& cpus) : CpuMask() {
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size_, set_);
  }
  ~CpuMask() { CPU_FREE(set_); }
  CpuMask(const CpuMask&) = delete;
  CpuMask& operator=(const CpuMask&) = delete;
  // Both return errno, 0 = done.
  [[nodiscard]] int apply(pid_t thread) const {
    return ::sched_setaffinity(thread, size_, set_) == 0 ? 0 : errno;
  }
  [[nodiscard]] int read(pid_t thread) {
    return ::sched_getaffinity(thread, size_, set_) == 0 ? 0 : errno;
  }
  [[nodiscard]] std::vector<int> cpus() const {
    std::vector<int> result;
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size_, set_)) result.push_back(cpu);
    }
    return result;
  }

 private:
  cpu_set_t* set_;
  std::size_t size_;
};

void apply_or_throw(pid_t thread, const std::vector<int>& cpus) {
  const int reason = CpuMask(cpus).apply(thread);
  if (reason != 0) {
    throw Error(ErrorCode::kPreflight, "affinity",
                "CPUs " + cpu_list_text(cpus) + " were refused: " + base::errno_text(reason) +
                    "; allowed are " + cpu_list_text(allowed_cpus()));
  }
}

std::vector<int> cpus_of_node(int node) {
  const std::string folder = "/sys/devices/system/node/node" + std::to_string(node);
  const auto list = read_line(folder + "/cpulist");
  if (!list) {
    const auto online = read_line("/sys/devices/system/node/online");
    throw Error(ErrorCode::kPreflight, "/affinity/numa_node",
                "NUMA node " + std::to_string(node) + " does not exist; there are " +
                    online.value_or("none"));
  }
  return parse_cpu_list(*list);
}

void require_allowed(const std::vector<int>& wanted, const std::vector<int>& allowed) {
  std::vector<int> missing;
  for (const int cpu : wanted) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) missing.push_back(cpu);
  }
  if (!missing.empty()) {
    throw Error(ErrorCode::kPreflight, "/affinity/cpus",
                "CPU " + cpu_list_text(missing) +
                    " does not exist or is not allowed here; allowed "
                    "are " +
                    cpu_list_text(allowed));
  }
}

std::vector<int> without(const std::vector<int>& all, const std::vector<int>& taken) {
  std::vector<int> rest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rest),
               [&](int cpu) { return std::find(taken.begin(), taken.end(), cpu) == taken.end(); });
  return rest;
}

// The policy of the stack's line in numa_maps, else of the first line.
std::string memory_policy(pid_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/numa_maps");
  std::string line;
  std::string first;
  while (std::getline(stream, line)) {
    const std::vector<std::string> words = base::split(line, ' ');
    if (words.size() < 2) continue;
    if (first.empty()) first = words[1];
    if (line.find(" stack") != std::string::npos) return words[1];
  }
  return first.empty() ? "unreadable" : first;
}

long set_memory_policy(int mode, int node) {
  constexpr int kBits = 1024;
  constexpr int kWordBits = static_cast<int>(8 * sizeof(unsigned long));
  unsigned long mask[kBits / kWordBits] = {};
  if (node >= 0) mask[node / kWordBits] |= 1UL << static_cast<unsigned>(node % kWordBits);
  return ::syscall(SYS_set_mempolicy, mode, node >= 0 ? mask : nullptr, node >= 0 ? kBits : 0);
}

}  // namespace

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (end > i) text += "-" + std::to_string(cpus[end]);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::set<int> cpus;
  for (const std::string& part : base::split(base::trim(text), ',')) {
    const std::vector<std::string> ends = base::split(part, '-');
    const auto number = [&](const std::string& digits) {
      const bool good = !digits.empty() && digits.size() <= 4 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
      const int value = good ? std::stoi(digits) : kMostCpus;
      if (value >= kMostCpus || ends.size() > 2) {
        throw Error(ErrorCode::kBadInput, "CPU list",
                    "\"" + text + "\" is none; a list looks like 0-3,8");
      }
      return value;
    };
    const int first = number(ends[0]);
    const int last = number(ends.back());
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<int> allowed_cpus() {
  CpuMask mask;
  const int reason = mask.read(0);
  if (reason != 0) throw Error(ErrorCode::kPreflight, "affinity", base::errno_text(reason));
  return mask.cpus();
}

CpuSplit split_cpus(const record::AffinityWish& wish, const std::vector<int>& allowed) {
  ABBA_CHECK(!allowed.empty());
  std::vector<int> wanted = wish.cpus;
  std::vector<int> usable = allowed;
  if (wish.numa_node >= 0) {
    const std::vector<int> node = cpus_of_node(wish.numa_node);
    usable = without(allowed, without(allowed, node));
    if (usable.empty()) require_allowed(node, allowed);
  }
  CpuSplit split;
  if (!wanted.empty()) {
    require_allowed(wanted, allowed);
    split.worker = wanted;
    split.harness = without(allowed, wanted);
    split.rule = "as the manifest says";
  } else if (usable.size() > 1) {
    split.harness = {usable.front()};
    split.worker.assign(usable.begin() + 1, usable.end());
    split.rule = "default: the lowest CPU stays with the harness";
  } else {
    split.worker = usable;
    split.harness = without(allowed, usable);
    split.rule = "default: one CPU is usable, the worker gets it";
  }
  if (split.harness.empty()) {
    split.harness = split.worker;
    split.shared = true;
    split.rule += "; none is left to the harness, which shares it";
  }
  return split;
}

void set_thread_affinity(const std::vector<int>& cpus) {
  apply_or_throw(0, cpus);
}

void set_affinity(pid_t pid, const std::vector<int>& cpus) {
  const pid_t process = pid == 0 ? ::getpid() : pid;
  std::set<pid_t> done;
  // A thread may be born of one not yet set; whoever is born later inherits the new set.
  for (bool fresh = true; fresh;) {
    fresh = false;
    for (const pid_t thread : read_threads({}, process)) {
      if (!done.insert(thread).second) continue;
      fresh = true;
      if (CpuMask(cpus).apply(thread) != ESRCH) apply_or_throw(thread, cpus);
    }
  }
  if (done.empty()) {
    throw Error(ErrorCode::kPreflight, "affinity",
                "process " + std::to_string(process) + " is gone; its affinity cannot be set");
  }
}

AppliedAffinity read_affinity(pid_t pid, const std::vector<int>& expected) {
  const pid_t process = pid == 0 ? ::getpid() : pid;
  AppliedAffinity applied;
  std::set<int> all;
  for (const pid_t thread : read_threads({}, process)) {
    CpuMask mask;
    if (mask.read(thread) != 0) continue;
    const std::vector<int> cpus = mask.cpus();
    ++applied.threads;
    all.insert(cpus.begin(), cpus.end());
    if (cpus != expected) applied.stray_threads.push_back(thread);
  }
  if (applied.threads == 0) {
    throw Error(ErrorCode::kPreflight, "affinity",
                "process " + std::to_string(process) + " is gone; its affinity cannot be read");
  }
  applied.cpus.assign(all.begin(), all.end());
  for (const auto& [key, value] : read_fields("/proc/" + std::to_string(process) + "/status")) {
    if (key == "Mems_allowed_list") applied.memory_nodes = value;
  }
  applied.memory_policy = memory_policy(process);
  return applied;
}

std::string placement_text(const AppliedAffinity& applied) {
  return "CPUs " + cpu_list_text(applied.cpus) + " on " + std::to_string(applied.threads) +
         " threads, memory " + applied.memory_policy + " of nodes " + applied.memory_nodes;
}

SpawnPlacement::SpawnPlacement(const std::vector<int>& cpus, int numa_node)
    : before_(allowed_cpus()) {
  if (!cpus.empty()) apply_or_throw(0, cpus);
  if (numa_node < 0) return;
  if (set_memory_policy(MPOL_BIND, numa_node) != 0) {
    const int reason = errno;
    if (CpuMask(before_).apply(0) != 0) before_.clear();
    throw Error(ErrorCode::kPreflight, "/affinity/bind_memory",
                "memory cannot be bound to NUMA node " + std::to_string(numa_node) + ": " +
                    base::errno_text(reason));
  }
  memory_bound_ = true;
}

SpawnPlacement::~SpawnPlacement() {
  if (memory_bound_) set_memory_policy(MPOL_DEFAULT, -1);
  [[maybe_unused]] const int ignored = CpuMask(before_).apply(0);
}

}  // namespace abba::host
