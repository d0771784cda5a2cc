// add: residual[i] += branch[i], the sum in fp32.
// Mapping: a thread 4 neighbouring elements of the flat array (1 where they cannot be cut so),
// 128 threads a block.
// Bytes of a launch: count * (4 + 2 + 4) for bf16, 1 FLOP an element: bandwidth bound, one
// launch's latency at few rows.
// Read in place: branch. Copied: nothing.
// Preconditions: flat_refusal.
// Exactness: one addition and no other choice: the bits of the CPU's.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/add.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

template <int kWidth, typename Act>
__device__ void add_values(std::int64_t count, const Act* branch, float* residual) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWidth;
  if (at >= count) return;
  float sum[kWidth];
  float added[kWidth];
  load_values(residual + at, sum);
  load_values(branch + at, added);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum[i] = round_add(sum[i], added[i]);
  store_values(residual + at, sum);
}

template <typename Act>
__global__ void add_kernel(std::int64_t count, bool in_vectors, const Act* branch,
                           float* residual) {
  if (in_vectors) return add_values<4>(count, branch, residual);
  add_values<1>(count, branch, residual);
}

const auto kAddBf16 = make_kernel("add_bf16", &add_kernel<__nv_bfloat16>);
const auto kAddFp32 = make_kernel("add_fp32", &add_kernel<float>);

}  // namespace

std::span<const KernelRow> add_kernels() {
  static const KernelRow kRows[] = {kAddBf16, kAddFp32};
  return kRows;
}

void launch_add(const ops::AddProblem& problem, const void* branch, float* residual,
                const LaunchContext& context) {
  const std::int64_t count = problem.rows * problem.hidden;
  ABBA_CHECK(flat_refusal(count).empty());
  const int width = vector_width(count, 4, {branch, residual});
  const Geometry geometry = flat_geometry(count, width, kFlatThreads);
  if (context.is_bf16()) {
    context.launch(kAddBf16, geometry, count, width > 1, static_cast<const __nv_bfloat16*>(branch),
                   residual);
  } else {
    context.launch(kAddFp32, geometry, count, width > 1, static_cast<const float*>(branch),
                   residual);
  }
}

}  // namespace abba::cuda
