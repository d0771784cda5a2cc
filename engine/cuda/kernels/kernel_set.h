// The kernels of one device by name, and the memory of which could not be loaded: a failure is
// remembered per (device, kernel), logged once on stderr, never tried again and reported with the
// run. Plain C++: what really loads is behind KernelLoader, which tests replace.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/cuda/kernels/kernel_row.h"

namespace abba::cuda {

// Loads one kernel on the current device and raises its shared memory limit; returns an empty
// string, or the reason why it cannot.
using KernelLoader = std::function<std::string(const KernelRow&)>;
// The CUDA runtime's.
std::string load_kernel(const KernelRow& kernel);

struct UnavailableKernel {
  std::string name;
  std::string reason;
};

class KernelSet {
 public:
  // `rows` may not name a kernel twice (ABBA_CHECK). `device` is for the log line. Loads nothing.
  KernelSet(std::span<const KernelRow> rows, std::string device, KernelLoader loader);

  // Loads the kernel at the first question; later answers come from memory.
  bool is_available(const KernelRow& kernel);
  // Why a kernel that was asked for is unavailable; empty if it is not.
  [[nodiscard]] std::string reason(const KernelRow& kernel) const;
  // The address of a kernel by its name; nullptr if there is none of that name. For handles =
  // per_launch and for tests.
  [[nodiscard]] const void* find(std::string_view name) const;

  [[nodiscard]] const std::vector<std::string>& loaded() const { return loaded_; }
  [[nodiscard]] const std::vector<UnavailableKernel>& unavailable() const { return unavailable_; }

 private:
  enum class State { kUnknown, kLoaded, kUnavailable };
  struct Entry {
    KernelRow row;
    State state = State::kUnknown;
  };
  std::unordered_map<std::string, Entry> entries_;
  std::string device_;
  KernelLoader loader_;
  std::vector<std::string> loaded_;
  std::vector<UnavailableKernel> unavailable_;
};

}  // namespace abba::cuda
