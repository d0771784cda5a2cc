// Attention for q, k, v and lengths that lie as they happen to lie: what the launchers of
// attention.h honour is passed on where it is; anything else (another stride, an address that is
// not 16-byte aligned) is copied into scratch of the wrapper's own first, on the same stream. The
// bits of the result do not depend on it. The model never needs a copy: copies() stays zero over
// its forward, and a test asserts that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/memory.h"
#include "engine/ops/problem.h"

namespace abba::cuda {

// act [B, rows, H, 64]; device address of the first element, strides in elements.
struct StridedHeads {
  const void* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = ops::kHeadDim;
  std::int64_t column_stride = 1;
};

struct StridedLengths {  // int32 [B]
  const std::int32_t* data = nullptr;
  std::int64_t stride = 1;
};

// Whether `parts` are the consecutive parts of one packed tensor [B, rows, parts, H, 64] that the
// launchers read in place: q, k, v of one qkv, k and v of one kv, or q alone. Pure.
bool is_packed(std::span<const StridedHeads> parts, std::int64_t rows, std::int64_t heads,
               ops::Precision precision);

// For kernel_list.cpp.
std::span<const KernelRow> attention_wrapper_kernels();

class AttentionWrapper {
 public:
  // `scratch_bytes`: the most any call may need. Allocates; a call does not.
  explicit AttentionWrapper(std::size_t scratch_bytes);
  static std::size_t scratch_bytes(const ops::AttentionProblem& problem, ops::Precision precision);
  static std::size_t scratch_bytes(const ops::SubsetAttentionProblem& problem,
                                   ops::Precision precision);

  // `out` contiguous as the problem says. ABBA_CHECKs: sizes (attention_refusal), scratch.
  void attend(const ops::AttentionProblem& problem, const StridedHeads& q, const StridedHeads& k,
              const StridedHeads& v, const StridedLengths& lengths, void* out,
              const LaunchContext& context);
  void attend(const ops::SubsetAttentionProblem& problem, const StridedHeads& q,
              const StridedHeads& k, const StridedHeads& v, const StridedLengths& lengths,
              void* out, const LaunchContext& context);
  // Tensors copied so far: q, k, v and lengths count one each.
  [[nodiscard]] std::int64_t copies() const { return copies_; }

 private:
  struct Extents {
    std::int64_t batch;
    std::int64_t rows;
    std::int64_t heads;
  };
  // The packed tensor: parts[0].data if it is one already, else a copy in the scratch at `used`.
  const void* packed(std::span<const StridedHeads> parts, const Extents& extents,
                     const LaunchContext& context, std::size_t& used);
  const std::int32_t* contiguous(const StridedLengths& lengths, std::int64_t batch,
                                 const LaunchContext& context, std::size_t& used);
  std::byte* take(std::size_t size_bytes, std::size_t& used) const;

  DeviceBuffer scratch_;
  std::int64_t copies_ = 0;
};

}  // namespace abba::cuda
