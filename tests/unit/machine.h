// What some tests need of the machine itself. A test whose need the machine truly lacks is skipped;
// one that only could not be run (the right is there, the code under test refused) fails where
// ABBA_REQUIRE_MACHINE=1, which `./dev test` and `./dev gpu-test` set. What counts as truly
// lacking: the machine has one CPU online; the kernel has no /proc/self/numa_maps; the kernel or
// the container refuses set_mempolicy to this very process.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace abba::machine {

inline bool has_two_cpus() {
  return ::sysconf(_SC_NPROCESSORS_ONLN) >= 2;
}

inline bool has_numa_maps() {
  return std::filesystem::exists("/proc/self/numa_maps");
}

// Tried on the calling thread and undone.
inline bool can_bind_memory() {
  constexpr int kDefault = 0;  // MPOL_DEFAULT
  constexpr int kBind = 2;     // MPOL_BIND
  const unsigned long node_0 = 1;
  const bool is_bound = ::syscall(SYS_set_mempolicy, kBind, &node_0, 8 * sizeof node_0) == 0;
  ::syscall(SYS_set_mempolicy, kDefault, nullptr, 0);
  return is_bound;
}

// Whether an ABBA_REQUIRE variable asks for what it names.
inline bool is_required(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

// Whether a test that could not run must fail: the machine has what it needs and says it has to.
inline bool must_run(bool machine_has_it) {
  return machine_has_it && is_required("ABBA_REQUIRE_MACHINE");
}

}  // namespace abba::machine
