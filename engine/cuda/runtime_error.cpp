#include "engine/cuda/runtime_error.h"

#include <cuda_runtime_api.h>

#include "engine/base/error.h"

namespace abba::cuda {

std::string error_text(int code) {
  return std::string(cudaGetErrorString(static_cast<cudaError_t>(code))) + " (error " +
         std::to_string(code) + ")";
}

void require(int code, std::string_view what) {
  if (code == cudaSuccess) return;
  throw base::Error(base::ErrorCode::kBroken, "cuda",
                    "failed while " + std::string(what) + ": " + error_text(code));
}

}  // namespace abba::cuda
