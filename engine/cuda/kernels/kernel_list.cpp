#include "engine/cuda/kernels/kernel_list.h"

#include <span>

namespace abba::cuda {
namespace {

void append(std::vector<KernelRow>& all, std::span<const KernelRow> rows) {
  all.insert(all.end(), rows.begin(), rows.end());
}

}  // namespace

std::vector<KernelRow> all_kernels() {
  std::vector<KernelRow> all;
  append(all, {});  // one line a kernel file
  return all;
}

}  // namespace abba::cuda
