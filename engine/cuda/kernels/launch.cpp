#include "engine/cuda/kernels/launch.h"

#include <cuda_runtime_api.h>

#include "engine/base/error.h"
#include "engine/cuda/kernels/kernel_set.h"

namespace abba::cuda {
namespace {

dim3 as_dim3(const Dim3& extents) {
  return {static_cast<unsigned>(extents.x), static_cast<unsigned>(extents.y),
          static_cast<unsigned>(extents.z)};
}

}  // namespace

void LaunchContext::launch_raw(const KernelRow& kernel, const Geometry& geometry,
                               void** arguments) const {
  if (geometry.is_empty()) return;
  ABBA_CHECK(is_launchable(geometry));
  ABBA_CHECK(geometry.shared_bytes <= kPlainSharedBytes ||
             geometry.shared_bytes <= kernel.most_shared_bytes);
  const void* function =
      handles_ == ops::Handles::kResolved ? kernel.function : kernels_.find(kernel.name);
  ABBA_CHECK(function != nullptr);
  cudaLaunchConfig_t config{};
  config.gridDim = as_dim3(geometry.grid);
  config.blockDim = as_dim3(geometry.block);
  config.dynamicSmemBytes = geometry.shared_bytes;
  config.stream = stream_;
  const int code = cudaLaunchKernelExC(&config, function, arguments);
  ++state_.launches;
  if (code == cudaSuccess || state_.first_error != 0) return;
  state_.first_error = code;
  state_.failed = kernel.name;
}

std::string load_kernel(const KernelRow& kernel) {
  cudaFuncAttributes attributes{};
  int code = cudaFuncGetAttributes(&attributes, kernel.function);
  if (code == cudaSuccess && kernel.most_shared_bytes > kPlainSharedBytes) {
    code = cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(kernel.most_shared_bytes));
  }
  if (code == cudaSuccess) return {};
  cudaGetLastError();  // remembered by the caller; must not surface at a later call
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

}  // namespace abba::cuda
