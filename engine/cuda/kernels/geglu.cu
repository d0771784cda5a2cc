// geglu: g[r, c] = act(gelu_erf(u[r, c]) * u[r, columns + c]) with u, GELU and product in fp32
// and one rounding; gelu: y = act(gelu_erf(y)).
// Mapping of geglu: grid x = rows, grid y = parts of a row, a thread 4 neighbouring columns (1
// where they cannot be cut so); of gelu: flat.
// Bytes of a launch: rows * columns * (8 + 2) for bf16 (2 + 2 for gelu) against some 40 FLOP an
// element, 10 of them in dependent chains: bandwidth bound on an H200 (computed: 102 us for bytes,
// 60 us for instructions at 16384 x 2624), one launch's latency at few rows.
// Read in place: u. Copied: nothing.
// Preconditions: row_refusal, flat_refusal.
// Exactness: the bits of the CPU's for every finite value.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

template <int kWidth, typename Act>
__device__ void gate_values(std::int64_t columns, const float* __restrict__ u, Act* g) {
  const std::int64_t column = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * kWidth;
  if (column >= columns) return;
  const float* from = u + std::int64_t{blockIdx.x} * 2 * columns + column;
  float value[kWidth];
  float gate[kWidth];
  load_values(from, value);
  load_values(from + columns, gate);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) value[i] = round_mul(gelu(value[i]), gate[i]);
  store_values(g + std::int64_t{blockIdx.x} * columns + column, value);
}

template <typename Act>
__global__ void geglu_kernel(std::int64_t columns, bool in_vectors, const float* u, Act* g) {
  if (in_vectors) return gate_values<4>(columns, u, g);
  gate_values<1>(columns, u, g);
}

template <int kWidth, typename Act>
__device__ void activate_values(std::int64_t count, Act* y) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWidth;
  if (at >= count) return;
  float value[kWidth];
  load_values(y + at, value);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) value[i] = gelu(value[i]);
  store_values(y + at, value);
}

template <typename Act>
__global__ void gelu_kernel(std::int64_t count, bool in_vectors, Act* y) {
  if (in_vectors) return activate_values<8>(count, y);
  activate_values<1>(count, y);
}

const auto kGegluBf16 = make_kernel("geglu_bf16", &geglu_kernel<__nv_bfloat16>);
const auto kGegluFp32 = make_kernel("geglu_fp32", &geglu_kernel<float>);
const auto kGeluBf16 = make_kernel("gelu_bf16", &gelu_kernel<__nv_bfloat16>);
const auto kGeluFp32 = make_kernel("gelu_fp32", &gelu_kernel<float>);

}  // namespace

std::span<const KernelRow> geglu_kernels() {
  static const KernelRow kRows[] = {kGegluBf16, kGegluFp32, kGeluBf16, kGeluFp32};
  return kRows;
}

void launch_geglu(const ops::GegluProblem& problem, const float* u, void* g,
                  const LaunchContext& context) {
  const std::int64_t columns = problem.columns;
  ABBA_CHECK(row_refusal(problem.rows, columns).empty());
  const int width = vector_width(columns, 4, {u, g});
  const Geometry geometry = row_geometry(problem.rows, columns / width);
  if (context.is_bf16()) {
    context.launch(kGegluBf16, geometry, columns, width > 1, u, static_cast<__nv_bfloat16*>(g));
  } else {
    context.launch(kGegluFp32, geometry, columns, width > 1, u, static_cast<float*>(g));
  }
}

void launch_gelu(std::int64_t count, void* y, const LaunchContext& context) {
  ABBA_CHECK(flat_refusal(count).empty());
  const int width = vector_width(count, 8, {y});
  const Geometry geometry = flat_geometry(count, width, kFlatThreads);
  if (context.is_bf16()) {
    context.launch(kGeluBf16, geometry, count, width > 1, static_cast<__nv_bfloat16*>(y));
  } else {
    context.launch(kGeluFp32, geometry, count, width > 1, static_cast<float*>(y));
  }
}

}  // namespace abba::cuda
