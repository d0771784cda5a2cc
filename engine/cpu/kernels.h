// The table of kernels: what the backend calls, one table for each instruction set the kernels are
// compiled for. Plain pointers and sizes; every kernel works on a part of its problem (rows, blocks
// or one head), so that threads can share it and no bit depends on how. Nothing here allocates.
// `Act` is base::Bf16 or float. Strides and sizes are in elements.
#pragma once

#include <cstdint>

#include "engine/base/half.h"
#include "engine/ops/problem.h"

namespace abba::cpu {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// y[r, c] = act(f(accumulator[r, c] + bias[c])), f by `epilogue` (not kGeglu); bias may be null.
template <typename Act>
struct EpilogueArgs {
  const float* accumulator = nullptr;
  std::int64_t accumulator_stride = 0;
  const float* bias = nullptr;
  Act* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ops::Epilogue epilogue = ops::Epilogue::kNone;
};

// y[r, c] = act(gelu(activated[r, c]) * gate[r, c]), both halves fp32 with one stride.
template <typename Act>
struct GegluArgs {
  const float* activated = nullptr;
  const float* gate = nullptr;
  std::int64_t u_stride = 0;
  Act* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// x[r] (+= branch[r] if given, kept in x), then the layer norm of x[r] into y as act, and into
// y_fp32 if given (which may be x). Rows are `hidden` apart everywhere. bias may be null.
template <typename Act>
struct NormArgs {
  float* x = nullptr;  // written only if branch or y_fp32 says so
  const Act* branch = nullptr;
  const float* gain = nullptr;
  const float* bias = nullptr;
  Act* y = nullptr;
  float* y_fp32 = nullptr;
  std::int64_t hidden = 0;
  float epsilon = 0;
};

template <typename Act>
struct RopeArgs {
  Act* qkv = nullptr;            // [rows, 3, heads, 64]
  const float* table = nullptr;  // [positions, 64]: 32 cosines, then 32 sines
  std::int64_t rows = 0;         // batch * length
  std::int64_t length = 0;
  std::int64_t heads = 0;
};

// One head of one batch row. Scratch holds attention_scratch_floats(keys) floats.
template <typename Act>
struct AttentionArgs {
  const Act* q = nullptr;  // query i at q + i * q_stride
  const Act* k = nullptr;  // key j at k + j * kv_stride, its value at v + j * kv_stride
  const Act* v = nullptr;
  Act* out = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t kv_stride = 0;
  std::int64_t out_stride = 0;
  std::int64_t queries = 0;
  std::int64_t zero_from = 0;    // queries from here on are padding: zeros are written
  std::int64_t keys = 0;         // the real ones: padding is not read
  std::int64_t half_window = 0;  // kFullAttention, or |query - key| <= half_window
  float* scratch = nullptr;
};

template <typename Act>
struct BiasArgs {
  Act* y = nullptr;  // [rows, columns]
  const float* bias = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool relu = false;
};

template <typename Act>
struct ActKernels {
  void (*epilogue)(const EpilogueArgs<Act>& args);
  void (*geglu)(const GegluArgs<Act>& args);
  void (*norm)(const NormArgs<Act>& args, Range rows);
  void (*add)(const Act* branch, float* x, Range elements);
  // Blocks of the variant, numbered 0 .. rope_block_count - 1.
  void (*rope)(ops::RopeVariant variant, const RopeArgs<Act>& args, Range blocks);
  void (*attention)(const AttentionArgs<Act>& args);
  // kStridedDiv64: elements of the flat matrix; kRows2d: rows.
  void (*add_bias)(ops::BiasVariant variant, const BiasArgs<Act>& args, Range part);
  // x[r, :] = h[r, :] + type[:]
  void (*add_type)(const Act* h, const Act* type, float* x, std::int64_t rows, std::int64_t hidden);
};

struct KernelTable {
  const char* isa = nullptr;
  ActKernels<float> fp32;
  ActKernels<base::Bf16> bf16;
  void (*widen)(const base::Bf16* from, float* to, std::int64_t count);
};

const KernelTable& kernels_avx2();
const KernelTable& kernels_avx512();

template <typename Act>
const ActKernels<Act>& act_kernels(const KernelTable& table);
template <>
inline const ActKernels<float>& act_kernels<float>(const KernelTable& table) {
  return table.fp32;
}
template <>
inline const ActKernels<base::Bf16>& act_kernels<base::Bf16>(const KernelTable& table) {
  return table.bf16;
}

std::int64_t rope_block_count(ops::RopeVariant variant, std::int64_t rows, std::int64_t heads);
std::int64_t attention_scratch_floats(std::int64_t keys);

}  // namespace abba::cpu
