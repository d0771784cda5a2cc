// Matrix products: planned piece by piece, run through the library and finished by a kernel where
// the library cannot (product_parts.h).
#include <algorithm>

#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/plain_product.h"
#include "engine/cuda/product_parts.h"
#include "engine/cuda/range.h"

namespace abba::cuda {
namespace {

bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kProductAlignmentBytes == 0;
}

}  // namespace

ops::MatmulId CudaBackend::plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight_id,
                                       ops::WeightId bias_id) {
  const bool is_geglu = problem.epilogue == ops::Epilogue::kGeglu;
  const std::int64_t products = product_columns(problem);
  ABBA_CHECK(weight(weight_id, WeightKind::kMatrix).shape ==
             (tensor::Shape{products, problem.depth}));
  ABBA_CHECK(problem.has_bias == bias_id.is_valid() && !(is_geglu && problem.has_bias));
  const void* bias = nullptr;
  if (problem.has_bias) {
    const Weight& vector = weight(bias_id, WeightKind::kVector);
    ABBA_CHECK(vector.shape.element_count() == problem.columns && vector.rounded != nullptr);
    bias = vector.rounded;
  }
  PlannedMatmul planned{problem, weight_id, bias, {}};
  planned.gated = gated_tile_for(problem);
  const std::int64_t step = planned.gated ? 0 : rows_at_a_time(problem);
  for (std::int64_t row = 0; step > 0 && row < problem.rows; row += step) {
    const std::int64_t rows = std::min(step, problem.rows - row);
    const ProductProblem product{rows,          products,
                                 problem.depth, finish_of(problem),
                                 act(),         is_geglu ? tensor::DType::kF32 : act()};
    const int plan = uses_library(problem) ? product_.plan(product, bias) : Product::kNoPlan;
    planned.parts.push_back({row, rows, plan});
  }
  const auto accumulator_bytes = static_cast<std::size_t>(is_geglu ? step * products * 4 : 0);
  if (accumulator_bytes > accumulators_.size_bytes()) {
    accumulators_ = DeviceBuffer();  // given back before the larger one is asked for
    accumulators_ = DeviceBuffer(accumulator_bytes, "accumulators of gated products");
  }
  matmuls_.push_back(std::move(planned));
  return {static_cast<std::int32_t>(matmuls_.size()) - 1};
}

// The best tile for the shape; where its kernel cannot be loaded any other, which has the same
// bits; none of them, and the library computes the product. The set of kernels notes what is
// unavailable.
std::optional<GatedTile> CudaBackend::gated_tile_for(const ops::MatmulProblem& problem) {
  if (!uses_gated_kernel(problem, settings_.precision)) return std::nullopt;
  for (const GatedTile tile : {best_gated_tile(problem.rows, problem.columns), GatedTile::k64x32,
                               GatedTile::k64x64, GatedTile::k128x128}) {
    if (kernels_.is_available(gated_product_kernel(tile))) return tile;
  }
  return std::nullopt;
}

void CudaBackend::matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) {
  const Range range("matmul");
  ABBA_CHECK(id.index >= 0 && static_cast<std::size_t>(id.index) < matmuls_.size());
  const PlannedMatmul& planned = matmuls_[static_cast<std::size_t>(id.index)];
  const ops::MatmulProblem& problem = planned.problem;
  ABBA_CHECK(x.is_contiguous() && x.dtype() == act() &&
             x.element_count() == problem.rows * problem.depth);
  ABBA_CHECK(y.is_contiguous() && y.dtype() == act() &&
             y.element_count() == problem.rows * problem.columns);
  ABBA_CHECK(is_aligned(x.data()) && is_aligned(y.data()));
  if (planned.gated) {
    return launch_gated_product(*planned.gated, problem.rows, problem.columns, problem.depth,
                                x.data(), weight(planned.weight, WeightKind::kMatrix).data,
                                y.data(), context());
  }
  for (const ProductPart& part : planned.parts) {
    run_part(planned, part, static_cast<const std::byte*>(x.data()),
             static_cast<std::byte*>(y.data()));
  }
}

void CudaBackend::run_part(const PlannedMatmul& planned, const ProductPart& part,
                           const std::byte* x, std::byte* y) {
  const ops::MatmulProblem& problem = planned.problem;
  const auto element = static_cast<std::int64_t>(tensor::size_bytes_of(act()));
  const std::byte* from = x + part.first_row * problem.depth * element;
  std::byte* to = y + part.first_row * problem.columns * element;
  const bool is_geglu = problem.epilogue == ops::Epilogue::kGeglu;
  multiply(planned, part, from, is_geglu ? accumulators_.data() : to);
  if (is_geglu) {
    launch_geglu({part.rows, problem.columns}, reinterpret_cast<const float*>(accumulators_.data()),
                 to, context());
  } else if (problem.epilogue == ops::Epilogue::kGelu) {
    launch_gelu(part.rows * problem.columns, to, context());
  }
}

void CudaBackend::multiply(const PlannedMatmul& planned, const ProductPart& part, const void* x,
                           void* y) {
  const ops::MatmulProblem& problem = planned.problem;
  const void* matrix = weight(planned.weight, WeightKind::kMatrix).data;
  if (part.plan == Product::kNoPlan) {
    const bool relu = problem.epilogue == ops::Epilogue::kRelu;
    const bool to_fp32 = problem.epilogue == ops::Epilogue::kGeglu;
    return launch_plain_product({part.rows, product_columns(problem), problem.depth, relu, to_fp32},
                                x, matrix, planned.bias, y, context());
  }
  ++state_.launches;
  note_library(product_.run(part.plan, matrix, x, y, stream_.get()));
}

}  // namespace abba::cuda
