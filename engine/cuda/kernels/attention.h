// Attention on the device: the launchers of engine/ops/problem.h's two attention problems and the
// guards that say beforehand what they cannot honour. Owns nothing.
//
// Read in place, never copied: packed q, k, v exactly as the problem structs lay them out,
// contiguous, 16-byte aligned (one batch row on is as good as the start); lengths, contiguous
// int32; both layouts of the output are written directly. Refused, for attention_wrapper.h to copy:
// any other stride, a misaligned address. Refused altogether: sizes beyond the limits below.
// Empty problems launch nothing. Lengths are read on the device and clamped to 0..keys; queries
// that are padding, and queries of a batch row without keys, give zeros.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/cuda/kernels/attention_geometry.h"
#include "engine/cuda/kernels/launch.h"
#include "engine/ops/problem.h"
#include "engine/tensor/view.h"

namespace abba::cuda {

// For kernel_list.cpp.
std::span<const KernelRow> attention_kernels();
// The kernel that a tile loads; fp32 has one for all. If one of bf16 cannot be loaded, any other
// tile gives the same bits.
const KernelRow& attention_kernel(AttentionTile tile, ops::Precision precision);

// Empty if the sizes are supported, else why not, as one sentence. Pure.
std::string_view attention_refusal(const ops::AttentionProblem& problem);
std::string_view attention_refusal(const ops::SubsetAttentionProblem& problem);
// The same, and of the memory: types, element counts, contiguity, alignment, lengths of another
// shape than [batch].
std::string_view attention_refusal(const ops::AttentionProblem& problem, ops::Precision precision,
                                   tensor::ConstView qkv, tensor::ConstView lengths,
                                   tensor::View out);
std::string_view attention_refusal(const ops::SubsetAttentionProblem& problem,
                                   ops::Precision precision, tensor::ConstView q,
                                   tensor::ConstView kv, tensor::ConstView lengths,
                                   tensor::View out);

// Device addresses of act as context.precision() says; shapes in problem.h. The refusals of sizes
// and alignment are ABBA_CHECKs. `tile` matters to speed only.
void launch_attention(const ops::AttentionProblem& problem, const void* qkv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context,
                      AttentionTile tile);
void launch_attention(const ops::SubsetAttentionProblem& problem, const void* q, const void* kv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context,
                      AttentionTile tile);
// With best_attention_tile().
void launch_attention(const ops::AttentionProblem& problem, const void* qkv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context);
void launch_attention(const ops::SubsetAttentionProblem& problem, const void* q, const void* kv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context);

}  // namespace abba::cuda
