// embed_norm: x = gain * ((e - mean) / sqrt(var + epsilon)) with e = table[ids[row]] widened
// exactly; x in fp32 is the residual, act(x) the first layer's input.
// Mapping: a block a row, a thread two quads of columns; grid x = rows.
// Bytes of a launch: rows * hidden * (2 + 4 + 2) for a 16-bit table and bf16; about 12 FLOP an
// element: bandwidth bound, at few rows one launch plus two dependent reads (id, then row) and
// two block reductions.
// Read in place: everything. Copied: nothing.
// Preconditions: norm_refusal, ids in range.
// Exactness: tolerance to the double reference; a row's bits depend on its values and the hidden
// size alone, residual and normed hold the same values but for normed's rounding to act.
#include "engine/base/error.h"
#include "engine/cuda/kernels/embed_norm.h"
#include "engine/cuda/kernels/norm_row.cuh"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

struct EmbedArgs {
  NormArgs norm;
  const std::int32_t* ids;
  float* residual;
};

template <typename Stored, typename Act>
__global__ void __launch_bounds__(kNormThreads)
    embed_norm_kernel(EmbedArgs args, const Stored* __restrict__ table, Act* normed) {
  const std::int64_t row = std::int64_t{blockIdx.x} * args.norm.hidden;
  Quads v;
  load_quads(table + std::int64_t{args.ids[blockIdx.x]} * args.norm.hidden, args.norm, v);
  normalize_row(args.norm, v);
  store_quads(args.residual + row, args.norm, v);
  store_quads(normed + row, args.norm, v);
}

using Bf16 = __nv_bfloat16;
const auto kF16ToBf16 = make_kernel("embed_norm_f16_bf16", &embed_norm_kernel<__half, Bf16>);
const auto kF16ToFp32 = make_kernel("embed_norm_f16_fp32", &embed_norm_kernel<__half, float>);
const auto kBf16ToBf16 = make_kernel("embed_norm_bf16_bf16", &embed_norm_kernel<Bf16, Bf16>);
const auto kBf16ToFp32 = make_kernel("embed_norm_bf16_fp32", &embed_norm_kernel<Bf16, float>);
const auto kF32ToBf16 = make_kernel("embed_norm_f32_bf16", &embed_norm_kernel<float, Bf16>);
const auto kF32ToFp32 = make_kernel("embed_norm_f32_fp32", &embed_norm_kernel<float, float>);

template <typename Stored>
void launch_stored(const Kernel<EmbedArgs, const Stored*, Bf16*>& to_bf16,
                   const Kernel<EmbedArgs, const Stored*, float*>& to_fp32,
                   const Geometry& geometry, const EmbedArgs& args, const void* table, void* normed,
                   const LaunchContext& context) {
  const auto* from = static_cast<const Stored*>(table);
  if (context.is_bf16()) {
    context.launch(to_bf16, geometry, args, from, static_cast<Bf16*>(normed));
  } else {
    context.launch(to_fp32, geometry, args, from, static_cast<float*>(normed));
  }
}

}  // namespace

std::span<const KernelRow> embed_norm_kernels() {
  static const KernelRow kRows[] = {kF16ToBf16,  kF16ToFp32, kBf16ToBf16,
                                    kBf16ToFp32, kF32ToBf16, kF32ToFp32};
  return kRows;
}

void launch_embed_norm(const ops::EmbedNormProblem& problem, tensor::DType stored,
                       const void* table, const float* gain, const std::int32_t* ids,
                       float* residual, void* normed, const LaunchContext& context) {
  ABBA_CHECK(norm_refusal(problem.rows, problem.hidden).empty());
  const bool in_vectors = vector_width(problem.hidden, 4, {table, gain, residual, normed}) > 1;
  const Geometry geometry = norm_geometry(problem.rows, problem.hidden);
  const EmbedArgs args{
      {gain, nullptr, static_cast<int>(problem.hidden), problem.epsilon, in_vectors},
      ids,
      residual};
  switch (stored) {
    case tensor::DType::kF16:
      return launch_stored(kF16ToBf16, kF16ToFp32, geometry, args, table, normed, context);
    case tensor::DType::kBf16:
      return launch_stored(kBf16ToBf16, kBf16ToFp32, geometry, args, table, normed, context);
    default:
      ABBA_CHECK(stored == tensor::DType::kF32);
      return launch_stored(kF32ToBf16, kF32ToFp32, geometry, args, table, normed, context);
  }
}

}  // namespace abba::cuda
