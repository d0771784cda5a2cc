// The fixtures of the tests that call launchers without a backend. CUDA builds only.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/kernel_set.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/stream.h"
#include "tests/device/attention_inputs.h"

namespace abba::device {

inline constexpr cuda::AttentionTile kTiles[] = {
    cuda::AttentionTile::kRows16, cuda::AttentionTile::kRows64, cuda::AttentionTile::kRows128};
inline constexpr std::int64_t kLauncherHeads = 3;
inline constexpr std::int64_t kLauncherWidth = kLauncherHeads * ops::kHeadDim;

// Host bytes at `shift` bytes into device memory that is NaN otherwise.
class Uploaded {
 public:
  explicit Uploaded(const Buffer& values, std::size_t shift = 0);
  [[nodiscard]] std::byte* data() const { return memory_.data() + shift_; }
  [[nodiscard]] const std::int32_t* integers() const {
    return reinterpret_cast<const std::int32_t*>(data());
  }

 private:
  cuda::DeviceBuffer memory_;
  std::size_t shift_;
};

class Launcher : public EveryWay {
 protected:
  void SetUp() override;
  [[nodiscard]] cuda::LaunchContext context() {
    return {stream_->get(), *kernels_, state_, GetParam().precision, ops::Handles::kResolved};
  }
  [[nodiscard]] std::int64_t size() const { return is_bf16() ? 2 : 4; }
  // Waits; the values at `at`, act of `shape`.
  Buffer read(const std::byte* at, const Shape& shape);

  std::unique_ptr<cuda::Stream> stream_;
  std::unique_ptr<cuda::KernelSet> kernels_;
  cuda::LaunchState state_;
};

class AttentionLaunch : public Launcher {
 protected:
  void SetUp() override;
  // `launch(out)` on fresh NaN memory for [rows, kLauncherWidth]; what it wrote.
  template <typename Launch>
  Buffer run(std::int64_t rows, Launch launch) {
    const Uploaded out = fresh_output(rows);
    launch(static_cast<void*>(out.data()));
    return read(out.data(), Shape{rows, kLauncherWidth});
  }

 private:
  [[nodiscard]] Uploaded fresh_output(std::int64_t rows) const;
};

}  // namespace abba::device
