// transpose_heads: by_row[b, r, h, :] = by_head[b, h, r, :], bytes as they are.
// Mapping: grid x = output rows B * rows, grid y = parts of a row, a thread 16 bytes; 8 threads
// read one head's 128 bytes of bf16 (16 of fp32) and a warp writes without gaps.
// Bytes of a launch: B * rows * H * 64 * 2 * 2 for bf16; no FLOP: bandwidth bound, one launch's
// latency at few rows.
// Read in place: by_head. Copied: all of it, which is what the op is.
// Preconditions: row_refusal, 16-byte alignment.
// Exactness: bytes.
#include <cuda_runtime.h>

#include "engine/base/error.h"
#include "engine/cuda/kernels/row_geometry.h"
#include "engine/cuda/kernels/transpose_heads.h"

namespace abba::cuda {
namespace {

struct TransposeArgs {
  std::uint32_t rows;  // of a batch row
  std::uint32_t heads;
  std::uint32_t head_vectors;  // of 16 bytes: 8 or 16
};

__global__ void transpose_heads_kernel(TransposeArgs args, const uint4* __restrict__ by_head,
                                       uint4* by_row) {
  const std::uint32_t vector = blockIdx.y * blockDim.x + threadIdx.x;
  if (vector >= args.heads * args.head_vectors) return;
  const std::uint32_t b = blockIdx.x / args.rows;
  const std::uint32_t r = blockIdx.x % args.rows;
  const std::uint32_t h = vector / args.head_vectors;
  const std::uint32_t within = vector % args.head_vectors;
  const std::uint64_t head_row = (std::uint64_t{b} * args.heads + h) * args.rows + r;
  const std::uint64_t to = std::uint64_t{blockIdx.x} * args.heads * args.head_vectors + vector;
  by_row[to] = by_head[head_row * args.head_vectors + within];
}

const auto kTranspose = make_kernel("transpose_heads", &transpose_heads_kernel);

}  // namespace

std::span<const KernelRow> transpose_heads_kernels() {
  static const KernelRow kList[] = {kTranspose};
  return kList;
}

void launch_transpose_heads(const ops::TransposeHeadsProblem& problem, const void* by_head,
                            void* by_row, const LaunchContext& context) {
  const std::int64_t rows = problem.batch * problem.rows;
  if (rows == 0 || problem.heads == 0) return;
  ABBA_CHECK(row_refusal(rows, problem.heads * ops::kHeadDim).empty());
  ABBA_CHECK(vector_width(ops::kHeadDim, 8, {by_head, by_row}) == 8);
  const std::int64_t head_vectors = ops::kHeadDim / (context.is_bf16() ? 8 : 4);
  const TransposeArgs args{static_cast<std::uint32_t>(problem.rows),
                           static_cast<std::uint32_t>(problem.heads),
                           static_cast<std::uint32_t>(head_vectors)};
  context.launch(kTranspose, row_geometry(rows, problem.heads * head_vectors), args,
                 static_cast<const uint4*>(by_head), static_cast<uint4*>(by_row));
}

}  // namespace abba::cuda
