// type_embedding: x[b, l, :] = h[b, l, :] + table[types[b], :], the sum of two act values in
// fp32.
// Mapping: grid x = rows B*L, grid y = parts of a row, a thread 4 neighbouring columns (1 where
// they cannot be cut so).
// Bytes of a launch: B*L*D * (2 + 4) for bf16, the table from L2; 1 FLOP an element: bandwidth
// bound, one launch's latency at few rows.
// Read in place: h, table, types. Copied: nothing.
// Preconditions: row_refusal, types in range.
// Exactness: one addition and no rounding after it: the bits of the CPU's.
#include "engine/base/error.h"
#include "engine/cuda/kernels/act_io.cuh"
#include "engine/cuda/kernels/row_geometry.h"
#include "engine/cuda/kernels/type_embedding.h"

namespace abba::cuda {
namespace {

struct TypeArgs {
  const std::int32_t* types;
  float* x;
  std::int64_t hidden;
  std::uint32_t length;
  bool in_vectors;
};

template <int kWidth, typename Act>
__device__ void add_type_values(const TypeArgs& args, const Act* __restrict__ table,
                                const Act* __restrict__ h) {
  const std::int64_t column = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * kWidth;
  if (column >= args.hidden) return;
  const std::int64_t type = args.types[blockIdx.x / args.length];
  const std::int64_t at = std::int64_t{blockIdx.x} * args.hidden + column;
  float sum[kWidth];
  float added[kWidth];
  load_values(h + at, sum);
  load_values(table + type * args.hidden + column, added);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum[i] = round_add(sum[i], added[i]);
  store_values(args.x + at, sum);
}

template <typename Act>
__global__ void type_embedding_kernel(TypeArgs args, const Act* table, const Act* h) {
  if (args.in_vectors) return add_type_values<4>(args, table, h);
  add_type_values<1>(args, table, h);
}

using Bf16 = __nv_bfloat16;
const auto kTypeBf16 = make_kernel("type_embedding_bf16", &type_embedding_kernel<Bf16>);
const auto kTypeFp32 = make_kernel("type_embedding_fp32", &type_embedding_kernel<float>);

}  // namespace

std::span<const KernelRow> type_embedding_kernels() {
  static const KernelRow kList[] = {kTypeBf16, kTypeFp32};
  return kList;
}

void launch_type_embedding(const ops::TypeEmbeddingProblem& problem, const void* table,
                           const void* h, const std::int32_t* types, float* x,
                           const LaunchContext& context) {
  const std::int64_t rows = problem.batch * problem.length;
  ABBA_CHECK(row_refusal(rows, problem.hidden).empty());
  const int width = vector_width(problem.hidden, 4, {table, h, x});
  const Geometry geometry = row_geometry(rows, problem.hidden / width);
  const TypeArgs args{types, x, problem.hidden, static_cast<std::uint32_t>(problem.length),
                      width > 1};
  if (context.is_bf16()) {
    context.launch(kTypeBf16, geometry, args, static_cast<const Bf16*>(table),
                   static_cast<const Bf16*>(h));
  } else {
    context.launch(kTypeFp32, geometry, args, static_cast<const float*>(table),
                   static_cast<const float*>(h));
  }
}

}  // namespace abba::cuda
