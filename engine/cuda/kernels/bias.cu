// add_bias: y[r, c] = act(y[r, c] + bias[c]), relu of it if asked; y was rounded before.
//   strided_div64  flat: a thread an element, 256 a block; the column is the 64-bit position modulo
//                  the number of columns, as a library does that takes any strides
//   rows_2d        grid x = rows, grid y = parts of a row, a thread 8 neighbouring columns (1 where
//                  they cannot be cut so); 32-bit indices
// Bytes of a launch: rows * columns * (2 + 2) for bf16, bias from L2; 1 FLOP an element: rows_2d
// is bound by bandwidth, strided_div64 by its modulo and its 2-byte accesses.
// Read in place: bias. Copied: nothing.
// Preconditions: bias_refusal.
// Exactness: bitwise to strided_div64; one addition and one rounding: the bits of the CPU's.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

struct BiasArgs {
  std::uint64_t rows;
  std::uint64_t columns;  // an argument, so that the compiler does not know the divisor
  bool has_relu;
  bool in_vectors;  // rows_2d
};

__device__ float biased(float value, float bias, bool has_relu) {
  const float sum = round_add(value, bias);
  return has_relu ? relu(sum) : sum;
}

template <typename Act>
__global__ void bias_division_kernel(BiasArgs args, const Act* __restrict__ bias, Act* y) {
  const std::uint64_t flat = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (flat >= args.rows * args.columns) return;
  float value[1];
  float shift[1];
  load_values(y + flat, value);
  load_values(bias + flat % args.columns, shift);
  value[0] = biased(value[0], shift[0], args.has_relu);
  store_values(y + flat, value);
}

template <int kWidth, typename Act>
__device__ void bias_values(const BiasArgs& args, const Act* __restrict__ bias, Act* y) {
  const auto columns = static_cast<std::uint32_t>(args.columns);
  const std::uint32_t column = (blockIdx.y * blockDim.x + threadIdx.x) * kWidth;
  if (column >= columns) return;
  float value[kWidth];
  float shift[kWidth];
  Act* at = y + (blockIdx.x * columns + column);
  load_values(at, value);
  load_values(bias + column, shift);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) value[i] = biased(value[i], shift[i], args.has_relu);
  store_values(at, value);
}

template <typename Act>
__global__ void bias_rows_kernel(BiasArgs args, const Act* bias, Act* y) {
  if (args.in_vectors) return bias_values<8>(args, bias, y);
  bias_values<1>(args, bias, y);
}

using Bf16 = __nv_bfloat16;
const auto kDivisionBf16 = make_kernel("bias_strided_div64_bf16", &bias_division_kernel<Bf16>);
const auto kDivisionFp32 = make_kernel("bias_strided_div64_fp32", &bias_division_kernel<float>);
const auto kRowsBf16 = make_kernel("bias_rows_2d_bf16", &bias_rows_kernel<Bf16>);
const auto kRowsFp32 = make_kernel("bias_rows_2d_fp32", &bias_rows_kernel<float>);

// The one place that turns a level into a kernel.
const Kernel<BiasArgs, const Bf16*, Bf16*>& bf16_kernel_of(ops::BiasVariant variant) {
  return variant == ops::BiasVariant::kStridedDiv64 ? kDivisionBf16 : kRowsBf16;
}
const Kernel<BiasArgs, const float*, float*>& fp32_kernel_of(ops::BiasVariant variant) {
  return variant == ops::BiasVariant::kStridedDiv64 ? kDivisionFp32 : kRowsFp32;
}

Geometry geometry_of(const ops::BiasProblem& problem, int width) {
  if (problem.variant == ops::BiasVariant::kStridedDiv64) {
    return flat_geometry(problem.rows * problem.columns, 1, kDivisionThreads);
  }
  return row_geometry(problem.rows, problem.columns / width);
}

}  // namespace

std::span<const KernelRow> bias_kernels() {
  static const KernelRow kList[] = {kDivisionBf16, kDivisionFp32, kRowsBf16, kRowsFp32};
  return kList;
}

const KernelRow& bias_kernel_of(ops::BiasVariant variant, ops::Precision precision) {
  ABBA_CHECK(variant != ops::BiasVariant::kEpilogue);
  if (precision == ops::Precision::kBf16) return bf16_kernel_of(variant);
  return fp32_kernel_of(variant);
}

void launch_bias(const ops::BiasProblem& problem, const void* bias, void* y,
                 const LaunchContext& context) {
  ABBA_CHECK(problem.variant != ops::BiasVariant::kEpilogue && bias_refusal(problem).empty());
  const int width = vector_width(problem.columns, 8, {bias, y});
  const Geometry geometry = geometry_of(problem, width);
  const BiasArgs args{static_cast<std::uint64_t>(problem.rows),
                      static_cast<std::uint64_t>(problem.columns), problem.relu, width > 1};
  if (context.is_bf16()) {
    context.launch(bf16_kernel_of(problem.variant), geometry, args, static_cast<const Bf16*>(bias),
                   static_cast<Bf16*>(y));
  } else {
    context.launch(fp32_kernel_of(problem.variant), geometry, args, static_cast<const float*>(bias),
                   static_cast<float*>(y));
  }
}

}  // namespace abba::cuda
