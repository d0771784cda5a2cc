// A folder that looks like /proc and /sys to the host layer, with numbers the test chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/host/identity.h"
#include "tests/unit/temporary_folder.h"

namespace abba::host::testing {

class FakeSystem {
 public:
  [[nodiscard]] SystemRoot root() const;
  void write(const std::string& name, const std::string& text) const;

  struct Cpu {
    std::int64_t user_ticks = 0;
    std::int64_t idle_ticks = 0;
    std::int64_t steal_ticks = 0;
  };
  // /proc/stat with these CPUs, numbered from 0.
  void set_cpus(const std::vector<Cpu>& cpus) const;

  struct Thread {
    std::int64_t id = 0;
    std::int64_t run_ns = 0;
    std::int64_t wait_ns = 0;
    std::int64_t involuntary = 0;
    std::int64_t migrations = 0;
  };
  void set_process(std::int64_t pid, const std::vector<Thread>& threads,
                   std::int64_t major_faults = 0) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace abba::host::testing
