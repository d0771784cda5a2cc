// gather_rows: y[i, :] = x[indices[i], :], bytes as they are.
// Mapping: grid x = picked rows, grid y = parts of a row, a thread 16 bytes (2 where a row
// cannot be cut so).
// Bytes of a launch: picked * hidden * 2 * element_bytes and the indices; no FLOP: one launch's
// latency and two dependent reads at the model's sizes (a few rows a batch row), bandwidth
// beyond.
// Read in place: x, indices. Copied: the picked rows.
// Preconditions: row_refusal, indices in range.
// Exactness: bytes.
#include <cuda_runtime.h>

#include "engine/base/error.h"
#include "engine/cuda/kernels/gather_rows.h"
#include "engine/cuda/kernels/row_geometry.h"

namespace abba::cuda {
namespace {

template <typename Unit>
__global__ void gather_rows_kernel(std::int64_t row_units, const Unit* __restrict__ x,
                                   const std::int32_t* __restrict__ indices, Unit* y) {
  const std::int64_t unit = std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (unit >= row_units) return;
  y[blockIdx.x * row_units + unit] = x[indices[blockIdx.x] * row_units + unit];
}

const auto kGather16 = make_kernel("gather_rows_16_bytes", &gather_rows_kernel<uint4>);
const auto kGather2 = make_kernel("gather_rows_2_bytes", &gather_rows_kernel<std::uint16_t>);

}  // namespace

std::span<const KernelRow> gather_rows_kernels() {
  static const KernelRow kList[] = {kGather16, kGather2};
  return kList;
}

void launch_gather_rows(const ops::GatherProblem& problem, std::int64_t element_bytes,
                        const void* x, const std::int32_t* indices, void* y,
                        const LaunchContext& context) {
  ABBA_CHECK(element_bytes == 2 || element_bytes == 4);
  // In units of 2 bytes, a vector is 8 of them.
  const std::int64_t units = problem.hidden * (element_bytes / 2);
  ABBA_CHECK(row_refusal(problem.picked, units).empty());
  if (vector_width(units, 8, {x, y}) == 8) {
    const std::int64_t vectors = units / 8;
    return context.launch(kGather16, row_geometry(problem.picked, vectors), vectors,
                          static_cast<const uint4*>(x), indices, static_cast<uint4*>(y));
  }
  context.launch(kGather2, row_geometry(problem.picked, units), units,
                 static_cast<const std::uint16_t*>(x), indices, static_cast<std::uint16_t*>(y));
}

}  // namespace abba::cuda
