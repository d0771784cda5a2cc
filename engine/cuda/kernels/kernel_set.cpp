#include "engine/cuda/kernels/kernel_set.h"

#include <cstdio>
#include <utility>

#include "engine/base/error.h"

namespace abba::cuda {

KernelSet::KernelSet(std::span<const KernelRow> rows, std::string device, KernelLoader loader)
    : device_(std::move(device)), loader_(std::move(loader)) {
  for (const KernelRow& row : rows) {
    ABBA_CHECK(row.function != nullptr);
    const bool is_new = entries_.emplace(std::string(row.name), Entry{row}).second;
    ABBA_CHECK(is_new);
  }
}

bool KernelSet::is_available(const KernelRow& kernel) {
  const auto found = entries_.find(std::string(kernel.name));
  ABBA_CHECK(found != entries_.end());  // a kernel that its file's list leaves out
  Entry& entry = found->second;
  if (entry.state == State::kUnknown) {
    const std::string reason = loader_(entry.row);
    entry.state = reason.empty() ? State::kLoaded : State::kUnavailable;
    if (reason.empty()) {
      loaded_.emplace_back(kernel.name);
    } else {
      std::fprintf(stderr, "abba: kernel %s is unavailable on %s: %s\n",
                   std::string(kernel.name).c_str(), device_.c_str(), reason.c_str());
      unavailable_.push_back({std::string(kernel.name), reason});
    }
  }
  return entry.state == State::kLoaded;
}

std::string KernelSet::reason(const KernelRow& kernel) const {
  for (const UnavailableKernel& one : unavailable_) {
    if (one.name == kernel.name) return one.reason;
  }
  return {};
}

const void* KernelSet::find(std::string_view name) const {
  const auto found = entries_.find(std::string(name));
  return found == entries_.end() ? nullptr : found->second.row.function;
}

}  // namespace abba::cuda
