// The one way a kernel is launched. A kernel file declares each of its kernels once,
//   const auto kAdd = make_kernel("add_bf16", &add_kernel<__nv_bfloat16>);
// lists them in a function `std::span<const KernelRow> ..._kernels()` that kernel_list.cpp gathers
// (no self-registration: the linker drops it), and launches them from functions `launch_*(problem,
// pointers, context)` with context.launch(kAdd, geometry, arguments...): the argument types are the
// kernel's own, so a wrong one does not compile. Where levels of a factor differ by kernel, one
// function beside the launcher says which kernel a level loads; launcher and planning both ask it.
// Pointers to activations are void*: context.precision() says whether they are bf16 or fp32.
//
// Whether a kernel can be loaded is settled when a shape is planned (KernelSet::is_available), so
// a request never branches on errors; a launch that fails all the same is noted in
// LaunchState::first_error and thrown by the backend's synchronize().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "engine/cuda/geometry.h"
#include "engine/cuda/kernels/kernel_row.h"
#include "engine/ops/problem.h"
#include "engine/ops/variant.h"

struct CUstream_st;

namespace abba::cuda {

class KernelSet;

template <typename... P>
struct Kernel : KernelRow {};

// `most_shared_bytes`: the largest dynamic shared memory any of its launches asks for.
template <typename... P>
Kernel<P...> make_kernel(std::string_view name, void (*function)(P...),
                         std::size_t most_shared_bytes = 0) {
  return {{name, reinterpret_cast<const void*>(function), most_shared_bytes}};
}

// What a backend's launches add up to.
struct LaunchState {
  std::int64_t launches = 0;  // kernels of ours
  int first_error = 0;        // CUDA's code of the first launch that failed
  std::string_view failed;    // the kernel it was
};

class LaunchContext {
 public:
  LaunchContext(CUstream_st* stream, const KernelSet& kernels, LaunchState& state,
                ops::Precision precision, ops::Handles handles)
      : stream_(stream),
        kernels_(kernels),
        state_(state),
        precision_(precision),
        handles_(handles) {}

  [[nodiscard]] CUstream_st* stream() const { return stream_; }
  [[nodiscard]] ops::Precision precision() const { return precision_; }
  [[nodiscard]] bool is_bf16() const { return precision_ == ops::Precision::kBf16; }

  // An empty geometry launches nothing. kResolved uses the kernel's address as it stands,
  // kPerLaunch looks it up by its name.
  template <typename... P>
  void launch(const Kernel<P...>& kernel, const Geometry& geometry,
              std::type_identity_t<P>... arguments) const {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    launch_raw(kernel, geometry, pointers);
  }

 private:
  void launch_raw(const KernelRow& kernel, const Geometry& geometry, void** arguments) const;

  CUstream_st* stream_;
  const KernelSet& kernels_;
  LaunchState& state_;
  ops::Precision precision_;
  ops::Handles handles_;
};

}  // namespace abba::cuda
