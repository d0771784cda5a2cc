// CPUs and memory of the workers and of the harness: chosen, really set, and read back from the
// kernel for every thread. Nothing is believed because a call returned 0.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/record/manifest.h"

namespace abba::host {

// "0-3,8": Linux's list form, both ways. parse throws Error(kBadInput) on anything else.
std::string cpu_list_text(const std::vector<int>& cpus);
std::vector<int> parse_cpu_list(const std::string& text);

// CPUs this process may use, ascending.
std::vector<int> allowed_cpus();

struct CpuSplit {
  std::vector<int> worker;
  std::vector<int> harness;
  bool shared = false;  // only one CPU is left for both: a doubt the report must carry
  std::string rule;     // one sentence: why this split
};

// The wish, or the default rule: the lowest allowed CPU stays with the harness, the workers get the
// others (on two CPUs: worker 1, harness 0). Throws Error(kPreflight) naming the CPUs that are
// allowed if a wanted one is not, and if the wanted NUMA node does not exist.
CpuSplit split_cpus(const record::AffinityWish& wish, const std::vector<int>& allowed);

// What the kernel says now, over all threads of a process.
struct AppliedAffinity {
  int threads = 0;
  std::vector<int> cpus;           // union over threads
  std::vector<int> stray_threads;  // thread ids whose set is not `expected`
  std::string memory_nodes;        // Mems_allowed_list
  std::string memory_policy;       // of the stack in numa_maps: "default", "bind:0", ...
};

// Sets every thread of `pid` (0 = this process), again until no new thread appears. Throws
// Error(kPreflight) if the kernel refuses.
void set_affinity(pid_t pid, const std::vector<int>& cpus);
// Throws Error(kPreflight) if the process is gone.
AppliedAffinity read_affinity(pid_t pid, const std::vector<int>& expected);
// "CPUs 1 on 2 threads, memory default of nodes 0".
std::string placement_text(const AppliedAffinity& applied);
// The calling thread only; pins the harness's own threads.
void set_thread_affinity(const std::vector<int>& cpus);

// While it lives, processes started by this thread are born with these CPUs and memory node (-1 =
// not bound), since both are inherited. Puts the thread's own back afterwards.
class SpawnPlacement {
 public:
  SpawnPlacement(const std::vector<int>& cpus, int numa_node);
  ~SpawnPlacement();
  SpawnPlacement(const SpawnPlacement&) = delete;
  SpawnPlacement& operator=(const SpawnPlacement&) = delete;

 private:
  std::vector<int> before_;
  bool memory_bound_ = false;
};

}  // namespace abba::host
