#include "tests/unit/host/fake_system.h"

namespace abba::host::testing {

SystemRoot FakeSystem::root() const {
  return {folder_.file("proc"), folder_.file("sys"), folder_.file("etc")};
}

void FakeSystem::write(const std::string& name, const std::string& text) const {
  folder_.write(name, text);
}

void FakeSystem::set_cpus(const std::vector<Cpu>& cpus) const {
  std::string text = "cpu  999999 0 0 0 0 0 0 0 0 0\n";
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    text += "cpu" + std::to_string(i) + " " + std::to_string(cpus[i].user_ticks) + " 0 0 " +
            std::to_string(cpus[i].idle_ticks) + " 0 0 0 " + std::to_string(cpus[i].steal_ticks) +
            " 0 0\n";
  }
  write("proc/stat", text + "intr 1 2 3\n");
}

void FakeSystem::set_process(std::int64_t pid, const std::vector<Thread>& threads,
                             std::int64_t major_faults) const {
  const std::string process = "proc/" + std::to_string(pid);
  // The command's name may hold anything, a closing parenthesis included.
  write(process + "/stat", std::to_string(pid) + " (a ) b) S 1 1 1 0 -1 0 7 0 " +
                               std::to_string(major_faults) + " 0 11 12 0 0 20 0 1 0\n");
  for (const Thread& thread : threads) {
    const std::string task = process + "/task/" + std::to_string(thread.id);
    write(task + "/schedstat",
          std::to_string(thread.run_ns) + " " + std::to_string(thread.wait_ns) + " 5\n");
    write(task + "/status", "Name:\tw\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t" +
                                std::to_string(thread.involuntary) + "\n");
    write(task + "/sched", "w (1, #threads: 1)\n---\nse.nr_migrations : " +
                               std::to_string(thread.migrations) + "\n");
  }
}

}  // namespace abba::host::testing
