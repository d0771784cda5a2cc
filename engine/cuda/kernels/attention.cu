#include <array>

#include "engine/base/error.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_args.h"
#include "engine/cuda/kernels/attention_bf16.cuh"
#include "engine/cuda/kernels/attention_fp32.cuh"

namespace abba::cuda {
namespace {

constexpr std::size_t kMostRingBytes = kAttentionRing * kAttentionSlotBytes;

const auto kRows16 =
    make_kernel("attention_bf16_rows16", &attention_bf16_kernel<1, 1>, kMostRingBytes);
const auto kRows64 =
    make_kernel("attention_bf16_rows64", &attention_bf16_kernel<4, 1>, kMostRingBytes);
const auto kRows128 =
    make_kernel("attention_bf16_rows128", &attention_bf16_kernel<4, 2>, kMostRingBytes);
const auto kPlain = make_kernel("attention_fp32", &attention_fp32_kernel);

const Kernel<AttentionArgs>& bf16_kernel(AttentionTile tile) {
  switch (tile) {
    case AttentionTile::kRows16:
      return kRows16;
    case AttentionTile::kRows64:
      return kRows64;
    default:
      return kRows128;
  }
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

void launch(const AttentionExtent& extent, const AttentionArgs& args, const LaunchContext& context,
            AttentionTile tile) {
  ABBA_CHECK(is_aligned(args.q) && is_aligned(args.k) && is_aligned(args.out));
  if (context.is_bf16()) {
    context.launch(bf16_kernel(tile), attention_geometry(extent, tile), args);
  } else {
    context.launch(kPlain, plain_attention_geometry(extent), args);
  }
}

}  // namespace

std::span<const KernelRow> attention_kernels() {
  static const std::array<KernelRow, 4> kAll = {kRows16, kRows64, kRows128, kPlain};
  return kAll;
}

const KernelRow& attention_kernel(AttentionTile tile, ops::Precision precision) {
  if (precision == ops::Precision::kFp32) return kPlain;
  return bf16_kernel(tile);
}

void launch_attention(const ops::AttentionProblem& problem, const void* qkv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context,
                      AttentionTile tile) {
  ABBA_CHECK(attention_refusal(problem).empty());
  launch(extent_of(problem), args_of(problem, context.precision(), qkv, lengths, out), context,
         tile);
}

void launch_attention(const ops::SubsetAttentionProblem& problem, const void* q, const void* kv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context,
                      AttentionTile tile) {
  ABBA_CHECK(attention_refusal(problem).empty());
  launch(extent_of(problem), args_of(problem, context.precision(), q, kv, lengths, out), context,
         tile);
}

void launch_attention(const ops::AttentionProblem& problem, const void* qkv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context) {
  launch_attention(problem, qkv, lengths, out, context, best_attention_tile(extent_of(problem)));
}

void launch_attention(const ops::SubsetAttentionProblem& problem, const void* q, const void* kv,
                      const std::int32_t* lengths, void* out, const LaunchContext& context) {
  launch_attention(problem, q, kv, lengths, out, context, best_attention_tile(extent_of(problem)));
}

}  // namespace abba::cuda
