// A kernel as the tables list it; see launch.h for how one is made.
#pragma once

#include <cstddef>
#include <string_view>

namespace abba::cuda {

struct KernelRow {
  std::string_view name;              // unique, a literal
  const void* function = nullptr;     // of the __global__ function
  std::size_t most_shared_bytes = 0;  // dynamic, of its largest launch
};

}  // namespace abba::cuda
