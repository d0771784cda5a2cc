// Formula: y[r, c] = act(y[r, c] + bias[c]), as bias.cu, where the rows of y lie apart.
// Mapping: flat, a thread an element, 256 a block; row and column by a 64-bit division.
// Bytes: every element read and written once, in accesses of one element; not for speed, as no
// request comes here. Preconditions: bias_refusal, row_stride >= columns.
// Exactness: bitwise to both levels of bias.cu: one addition, one rounding.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/row_geometry.h"
#include "engine/cuda/kernels/strided_bias.h"

namespace abba::cuda {
namespace {

struct StridedBiasArgs {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  bool has_relu;
};

template <typename Act>
__global__ void strided_bias_kernel(StridedBiasArgs args, const Act* bias, Act* y) {
  const std::int64_t flat = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (flat >= args.rows * args.columns) return;
  const std::int64_t column = flat % args.columns;
  Act* at = y + flat / args.columns * args.row_stride + column;
  float value[1];
  float shift[1];
  load_values(at, value);
  load_values(bias + column, shift);
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

void launch_strided_bias(const ops::BiasProblem& problem, const void* bias, void* y,
                         std::int64_t row_stride, const LaunchContext& context) {
  ABBA_CHECK(bias_refusal(problem).empty() && row_stride >= problem.columns);
  const StridedBiasArgs args{problem.rows, problem.columns, row_stride, problem.relu};
  const Geometry geometry = flat_geometry(problem.rows * problem.columns, 1, kDivisionThreads);
  if (context.is_bf16()) {
    context.launch(kBf16, geometry, args, static_cast<const Bf16*>(bias), static_cast<Bf16*>(y));
  } else {
    context.launch(kFp32, geometry, args, static_cast<const float*>(bias), static_cast<float*>(y));
  }
}

}  // namespace abba::cuda
