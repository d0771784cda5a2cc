#include "tests/device/launcher.h"

#include <cuda_runtime_api.h>

#include "engine/cuda/kernels/attention_wrapper.h"
#include "engine/cuda/kernels/kernel_list.h"

namespace abba::device {

// The stream is non-blocking and does not wait for copies of the legacy stream: these are waited
// for here.
Uploaded::Uploaded(const Buffer& values, std::size_t shift)
    : memory_(values.view().size_bytes() + 512, "test input"), shift_(shift) {
  EXPECT_EQ(cudaMemset(memory_.data(), 0xFF, memory_.size_bytes()), cudaSuccess);
  EXPECT_EQ(
      cudaMemcpy(data(), values.view().data(), values.view().size_bytes(), cudaMemcpyHostToDevice),
      cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

void Launcher::SetUp() {
  EveryWay::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  stream_ = std::make_unique<cuda::Stream>();
  kernels_ = std::make_unique<cuda::KernelSet>(cuda::all_kernels(), "test", cuda::load_kernel);
}

Buffer Launcher::read(const std::byte* at, const Shape& shape) {
  stream_->synchronize();
  EXPECT_EQ(state_.first_error, 0) << state_.failed;
  Buffer values(act(), shape);
  EXPECT_EQ(
      cudaMemcpy(values.view().data(), at, values.view().size_bytes(), cudaMemcpyDeviceToHost),
      cudaSuccess);
  return values;
}

void AttentionLaunch::SetUp() {
  Launcher::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const cuda::AttentionTile tile : kTiles) {
    ASSERT_TRUE(kernels_->is_available(cuda::attention_kernel(tile, GetParam().precision)));
  }
  for (const cuda::KernelRow& row : cuda::attention_wrapper_kernels()) {
    ASSERT_TRUE(kernels_->is_available(row));
  }
}

Uploaded AttentionLaunch::fresh_output(std::int64_t rows) const {
  Buffer buffer(act(), Shape{rows, kLauncherWidth});
  buffer.poison();
  return Uploaded(buffer);
}

}  // namespace abba::device
