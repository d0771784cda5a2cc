#include "engine/cuda/product_parts.h"

#include <algorithm>

#include "engine/cuda/geometry.h"
#include "engine/cuda/kernels/gated_product.h"

namespace abba::cuda {

Finish finish_of(const ops::MatmulProblem& problem) {
  const bool relu = problem.epilogue == ops::Epilogue::kRelu;
  if (problem.has_bias) return relu ? Finish::kReluBias : Finish::kBias;
  return relu ? Finish::kRelu : Finish::kNone;
}

std::int64_t product_columns(const ops::MatmulProblem& problem) {
  return problem.epilogue == ops::Epilogue::kGeglu ? 2 * problem.columns : problem.columns;
}

std::int64_t rows_at_a_time(const ops::MatmulProblem& problem) {
  if (problem.epilogue != ops::Epilogue::kGeglu) return problem.rows;
  const std::int64_t fitting = kMostAccumulatorBytes / (2 * problem.columns * 4);
  return std::min(problem.rows, std::max(kLeastRows, fitting / kLeastRows * kLeastRows));
}

bool uses_library(const ops::MatmulProblem& problem) {
  constexpr std::int64_t kLeastColumns = 8;
  return product_columns(problem) >= kLeastColumns;
}

bool uses_gated_kernel(const ops::MatmulProblem& problem, ops::Precision precision) {
  return problem.epilogue == ops::Epilogue::kGeglu && precision == ops::Precision::kBf16 &&
         problem.rows <= kMostGatedRows &&
         gated_product_refusal(problem.rows, problem.columns, problem.depth).empty();
}

std::int64_t launches_of(const ops::MatmulProblem& problem, ops::Precision precision) {
  if (uses_gated_kernel(problem, precision)) return problem.rows > 0 ? 1 : 0;
  const bool is_finished_apart =
      problem.epilogue == ops::Epilogue::kGeglu || problem.epilogue == ops::Epilogue::kGelu;
  return ceil_div(problem.rows, rows_at_a_time(problem)) * (is_finished_apart ? 2 : 1);
}

}  // namespace abba::cuda
