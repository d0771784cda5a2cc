#include "engine/cuda/memory.h"

#include <cuda_runtime_api.h>

#include <string>

#include "engine/base/error.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

std::string free_text() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return "an unknown number";
  return std::to_string(free_bytes) + " of " + std::to_string(total_bytes);
}

[[noreturn]] void refuse(std::size_t size_bytes, std::string_view purpose, int code) {
  cudaGetLastError();  // an allocation that fails leaves nothing behind but this
  if (code != cudaErrorMemoryAllocation) {
    require(code,
            "allocating " + std::to_string(size_bytes) + " bytes for " + std::string(purpose));
  }
  throw base::Error(base::ErrorCode::kPreflight, "device memory",
                    "has no room for " + std::to_string(size_bytes) + " bytes of " +
                        std::string(purpose) + " (" + free_text() +
                        " bytes are free); end what else runs on the GPU or use a smaller shape");
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t size_bytes, std::string_view purpose)
    : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  void* memory = nullptr;
  const int code = cudaMalloc(&memory, size_bytes);
  if (code != cudaSuccess) refuse(size_bytes, purpose, code);
  data_ = static_cast<std::byte*>(memory);
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}

PinnedBuffer::PinnedBuffer(std::size_t size_bytes, std::string_view purpose)
    : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  void* memory = nullptr;
  const int code = cudaMallocHost(&memory, size_bytes);
  if (code != cudaSuccess) {
    cudaGetLastError();
    require(code,
            "page-locking " + std::to_string(size_bytes) + " bytes for " + std::string(purpose));
  }
  data_ = static_cast<std::byte*>(memory);
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

}  // namespace abba::cuda
