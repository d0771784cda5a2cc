// How a matrix product is carried out, as plain numbers: what the library's opaque choice consists
// of, and the committed table of choices that `abba-laya gemm-pin` timed. A row holds for one
// platform (library, driver, chip) and one problem; anything else has no row and falls back.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/cuda/cublaslt.h"
#include "engine/tensor/dtype.h"

namespace abba::cuda {

// y[rows, columns] = finish(x[rows, depth] * weight[columns, depth]^T), fp32 accumulation; x and
// weight of type `in`.
struct ProductProblem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  Finish finish = Finish::kNone;
  tensor::DType in = tensor::DType::kBf16;
  tensor::DType out = tensor::DType::kBf16;
  friend auto operator<=>(const ProductProblem&, const ProductProblem&) = default;
};

// The library's configuration attributes, by its names for them.
struct AlgorithmFields {
  std::int32_t id = 0;
  std::uint32_t tile = 0;
  std::uint32_t stages = 0;
  std::int32_t split_k = 1;
  std::uint32_t reduction = 0;
  std::uint32_t swizzle = 0;
  std::uint32_t custom = 0;
  std::uint16_t inner_shape = 0;
  std::uint16_t cluster_shape = 0;
  friend bool operator==(const AlgorithmFields&, const AlgorithmFields&) = default;
};

struct PinnedRow {
  std::string_view platform;
  ProductProblem problem;
  AlgorithmFields fields;
};

std::span<const PinnedRow> pinned_rows();
// The first row of this platform and problem.
std::optional<AlgorithmFields> find_pinned(std::span<const PinnedRow> rows,
                                           std::string_view platform,
                                           const ProductProblem& problem);

// "cublasLt 130100, driver 13000, sm_90 x 132": the key of the table.
std::string platform_text(std::size_t library, int driver, int compute_capability, int sm_count);
// "bf16 48 x 5248 x 1024 -> fp32, bias"
std::string problem_text(const ProductProblem& problem);
// One line of pinned_rows.inc.
std::string row_text(const PinnedRow& row);

}  // namespace abba::cuda
