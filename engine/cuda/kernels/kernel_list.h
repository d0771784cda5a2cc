// Every kernel of the backend: the files' own lists, one after another. A new kernel file adds its
// line in kernel_list.cpp.
#pragma once

#include <vector>

#include "engine/cuda/kernels/kernel_row.h"

namespace abba::cuda {

std::vector<KernelRow> all_kernels();

}  // namespace abba::cuda
