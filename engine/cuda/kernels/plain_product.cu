// plain_product: y[m, n] = finish(sum over k of x[m, k] * weight[n, k] [+ bias[n]]), fp32
// accumulation, one rounding.
// Mapping: a warp an output element, 8 warps a block; lane l adds k = l, l + 32, ..., then the
// lanes are added in a tree, so a value's bits depend on its row and column alone.
// Bytes of a launch: rows * columns * depth * 2 * 2 for bf16 at worst (a row and a column each),
// 2 * rows * columns * depth FLOPs: latency bound at the few columns it is meant for.
// Read in place: x, weight, bias. Copied: nothing. Preconditions: plain_product_refusal.
// Exactness: tolerance to any other order of additions; the same bits for any number of rows.
#include <cuda_bf16.h>

#include "engine/base/error.h"
#include "engine/cuda/kernels/plain_product.h"

namespace abba::cuda {
namespace {

using Bf16 = __nv_bfloat16;

__device__ float widened(float value) {
  return value;
}
__device__ float widened(Bf16 value) {
  return __bfloat162float(value);
}
__device__ void store(float* to, float value) {
  *to = value;
}
__device__ void store(Bf16* to, float value) {
  *to = __float2bfloat16_rn(value);
}

template <typename Act, typename Out>
__global__ void plain_product_kernel(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                     bool relu, const Act* x, const Act* weight, const Act* bias,
                                     Out* y) {
  const std::int64_t unit = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (unit >= rows * columns) return;
  const std::int64_t column = unit % columns;
  const Act* a = x + unit / columns * depth;
  const Act* b = weight + column * depth;
  float sum = 0.0F;
  for (std::int64_t k = threadIdx.x; k < depth; k += 32) {
    sum = __fmaf_rn(widened(a[k]), widened(b[k]), sum);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, step));
  }
  if (threadIdx.x != 0) return;
  if (bias != nullptr) sum = __fadd_rn(sum, widened(bias[column]));
  if (relu && sum <= 0.0F) sum = 0.0F;
  store(y + unit, sum);
}

const auto kBf16ToBf16 = make_kernel("plain_product_bf16", &plain_product_kernel<Bf16, Bf16>);
const auto kBf16ToFp32 =
    make_kernel("plain_product_to_fp32_bf16", &plain_product_kernel<Bf16, float>);
const auto kFp32 = make_kernel("plain_product_fp32", &plain_product_kernel<float, float>);

template <typename Act, typename Out>
void launch(const Kernel<std::int64_t, std::int64_t, std::int64_t, bool, const Act*, const Act*,
                         const Act*, Out*>& kernel,
            const PlainProblem& p, const void* x, const void* weight, const void* bias, void* y,
            const LaunchContext& context) {
  context.launch(kernel, plain_product_geometry(p.rows, p.columns), p.rows, p.columns, p.depth,
                 p.relu, static_cast<const Act*>(x), static_cast<const Act*>(weight),
                 static_cast<const Act*>(bias), static_cast<Out*>(y));
}

}  // namespace

std::span<const KernelRow> plain_product_kernels() {
  static const KernelRow kRows[] = {kBf16ToBf16, kBf16ToFp32, kFp32};
  return kRows;
}

void launch_plain_product(const PlainProblem& problem, const void* x, const void* weight,
                          const void* bias, void* y, const LaunchContext& context) {
  ABBA_CHECK(plain_product_refusal(problem.rows, problem.columns).empty());
  if (!context.is_bf16()) {
    launch(kFp32, problem, x, weight, bias, y, context);
  } else if (problem.to_fp32) {
    launch(kBf16ToFp32, problem, x, weight, bias, y, context);
  } else {
    launch(kBf16ToBf16, problem, x, weight, bias, y, context);
  }
}

}  // namespace abba::cuda
