// Stands in for the launch.h of the same path where kernels run on the host: the same words, but a
// kernel is called, once for every thread of its grid.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "engine/cuda/kernels/kernel_row.h"
#include "engine/ops/problem.h"
#include "tests/unit/cuda/on_host/grid.h"

namespace abba::cuda {

template <typename... P>
struct Kernel : KernelRow {
  void (*call)(P...) = nullptr;
};

template <typename... P>
Kernel<P...> make_kernel(std::string_view name, void (*function)(P...),
                         std::size_t most_shared_bytes = 0) {
  return {{name, reinterpret_cast<const void*>(function), most_shared_bytes}, function};
}

class LaunchContext {
 public:
  explicit LaunchContext(ops::Precision precision) : precision_(precision) {}
  [[nodiscard]] ops::Precision precision() const { return precision_; }
  [[nodiscard]] bool is_bf16() const { return precision_ == ops::Precision::kBf16; }

  template <typename... P>
  void launch(const Kernel<P...>& kernel, const Geometry& geometry,
              std::type_identity_t<P>... arguments) const {
    on_host::run_grid(geometry, [&] { kernel.call(arguments...); });
  }

 private:
  ops::Precision precision_;
};

}  // namespace abba::cuda
