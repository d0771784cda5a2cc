// layer_norm: y = act(gain * ((x - mean) / sqrt(var + epsilon)) [+ bias]); add_norm: x += branch
// first, the sum kept in fp32.
// Mapping: a block a row, a thread two quads of columns; grid x = rows.
// Bytes of a launch: rows * hidden * (4 + 2) for layer_norm, (4 + 2 + 4 + 2) for add_norm
// (bf16), gain and bias from L2; about 12 FLOP an element: bandwidth bound from some 500 rows of
// 1024 on, below that one launch plus two block reductions.
// Read in place: everything. Copied: nothing.
// Preconditions: norm_refusal.
// Exactness: tolerance to the double reference; a row's bits depend on its values and the hidden
// size alone.
#include "engine/base/error.h"
#include "engine/cuda/kernels/layer_norm.h"
#include "engine/cuda/kernels/norm_row.cuh"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

template <typename Act>
__global__ void __launch_bounds__(kNormThreads)
    layer_norm_kernel(NormArgs args, const float* x, Act* y) {
  const std::int64_t row = std::int64_t{blockIdx.x} * args.hidden;
  Quads v;
  load_quads(x + row, args, v);
  normalize_row(args, v);
  store_quads(y + row, args, v);
}

template <typename Act>
__global__ void __launch_bounds__(kNormThreads)
    add_norm_kernel(NormArgs args, const Act* branch, float* residual, Act* y) {
  const std::int64_t row = std::int64_t{blockIdx.x} * args.hidden;
  Quads v;
  Quads added;
  load_quads(residual + row, args, v);
  load_quads(branch + row, args, added);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i / 4][i % 4] = round_add(v[i / 4][i % 4], added[i / 4][i % 4]);
  store_quads(residual + row, args, v);
  normalize_row(args, v);
  store_quads(y + row, args, v);
}

const auto kLayerNormBf16 = make_kernel("layer_norm_bf16", &layer_norm_kernel<__nv_bfloat16>);
const auto kLayerNormFp32 = make_kernel("layer_norm_fp32", &layer_norm_kernel<float>);
const auto kAddNormBf16 = make_kernel("add_norm_bf16", &add_norm_kernel<__nv_bfloat16>);
const auto kAddNormFp32 = make_kernel("add_norm_fp32", &add_norm_kernel<float>);

NormArgs args_of(const ops::NormProblem& p, const float* gain, const float* bias,
                 std::initializer_list<const void*> pointers) {
  ABBA_CHECK(norm_refusal(p.rows, p.hidden).empty());
  const bool in_vectors =
      vector_width(p.hidden, 4, pointers) > 1 && vector_width(p.hidden, 4, {gain, bias}) > 1;
  return {gain, bias, static_cast<int>(p.hidden), p.epsilon, in_vectors};
}

}  // namespace

std::span<const KernelRow> layer_norm_kernels() {
  static const KernelRow kRows[] = {kLayerNormBf16, kLayerNormFp32, kAddNormBf16, kAddNormFp32};
  return kRows;
}

void launch_layer_norm(const ops::NormProblem& problem, const float* gain, const float* bias,
                       const float* x, void* y, const LaunchContext& context) {
  const NormArgs args = args_of(problem, gain, bias, {x, y});
  const Geometry geometry = norm_geometry(problem.rows, problem.hidden);
  if (context.is_bf16()) {
    context.launch(kLayerNormBf16, geometry, args, x, static_cast<__nv_bfloat16*>(y));
  } else {
    context.launch(kLayerNormFp32, geometry, args, x, static_cast<float*>(y));
  }
}

void launch_add_norm(const ops::NormProblem& problem, const float* gain, const float* bias,
                     const void* branch, float* residual, void* y, const LaunchContext& context) {
  const NormArgs args = args_of(problem, gain, bias, {branch, residual, y});
  const Geometry geometry = norm_geometry(problem.rows, problem.hidden);
  if (context.is_bf16()) {
    context.launch(kAddNormBf16, geometry, args, static_cast<const __nv_bfloat16*>(branch),
                   residual, static_cast<__nv_bfloat16*>(y));
  } else {
    context.launch(kAddNormFp32, geometry, args, static_cast<const float*>(branch), residual,
                   static_cast<float*>(y));
  }
}

}  // namespace abba::cuda
