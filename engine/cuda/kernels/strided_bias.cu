// Formula: y[r, c] = act(y[r, c] + bias[c]), as bias.cu, at any strides.
// Mapping: flat, a thread an element, 256 a block; row and column by a 64-bit division.
// Bytes: every element read and written once, in accesses of one element; not for speed, as no
// request comes here. Preconditions: bias_refusal; no two elements of y at one place.
// Exactness: bitwise to both levels of bias.cu: one addition, one rounding.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/row_geometry.h"
#include "engine/cuda/kernels/strided_bias.h"

namespace abba::cuda {
namespace {

struct StridedBiasArgs {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
  std::int64_t bias_stride;
  bool has_relu;
};

template <typename Act>
__global__ void strided_bias_kernel(StridedBiasArgs args, const Act* bias, Act* y) {
  const std::int64_t flat = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (flat >= args.rows * args.columns) return;
  const std::int64_t row = flat / args.columns;
  const std::int64_t column = flat % args.columns;
  Act* at = y + row * args.row_stride + column * args.column_stride;
  float value[1];
  float shift[1];
  load_values(at, value);
  load_values(bias + column * args.bias_stride, shift);
  const float sum = round_add(value[0], shift[0]);
  value[0] = args.has_relu ? relu(sum) : sum;
  store_values(at, value);
}

using Bf16 = __nv_bfloat16;
const auto kBf16 = make_kernel("strided_bias_bf16", &strided_bias_kernel<Bf16>);
const auto kFp32 = make_kernel("strided_bias_fp32", &strided_bias_kernel<float>);

}  // namespace

std::span<const KernelRow> strided_bias_kernels() {
  static const KernelRow kList[] = {kBf16, kFp32};
  return kList;
}

const KernelRow* launch_strided_bias(const ops::BiasProblem& problem, const StridedColumns& bias,
                                     const StridedRows& y, const LaunchContext& context) {
  if (problem.rows == 0 || problem.columns == 0) return nullptr;
  ABBA_CHECK(bias_refusal(problem).empty());
  const bool is_contiguous = y.column_stride == 1 && y.row_stride == problem.columns;
  if (is_contiguous && bias.stride == 1) {
    launch_bias(problem, bias.data, y.data, context);
    return &bias_kernel_of(problem.variant, context.precision());
  }
  const StridedBiasArgs args{problem.rows,    problem.columns, y.row_stride,
                             y.column_stride, bias.stride,     problem.relu};
  const Geometry geometry = flat_geometry(problem.rows * problem.columns, 1, kDivisionThreads);
  if (context.is_bf16()) {
    context.launch(kBf16, geometry, args, static_cast<const Bf16*>(bias.data),
                   static_cast<Bf16*>(y.data));
    return &kBf16;
  }
  context.launch(kFp32, geometry, args, static_cast<const float*>(bias.data),
                 static_cast<float*>(y.data));
  return &kFp32;
}

}  // namespace abba::cuda
