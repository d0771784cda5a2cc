#include "engine/cuda/algorithm.h"

#include <array>
#include <vector>

namespace abba::cuda {
namespace {

using tensor::DType;

constexpr DType kB = DType::kBf16;
constexpr DType kF = DType::kF32;

const std::vector<PinnedRow>& rows() {
  static const std::vector<PinnedRow> all = {
#include "engine/cuda/pinned_rows.inc"
  };
  return all;
}

constexpr std::array<std::string_view, 4> kFinishNames = {"none", "bias", "relu", "relu and bias"};
constexpr std::array<std::string_view, 4> kFinishWords = {"kNone", "kBias", "kRelu", "kReluBias"};

std::string_view finish_in(const std::array<std::string_view, 4>& names, Finish finish) {
  return names[static_cast<std::size_t>(finish)];
}

std::string type_text(DType type) {
  return type == DType::kBf16 ? "bf16" : "fp32";
}

}  // namespace

std::span<const PinnedRow> pinned_rows() {
  return rows();
}

std::optional<AlgorithmFields> find_pinned(std::span<const PinnedRow> table,
                                           std::string_view platform,
                                           const ProductProblem& problem) {
  for (const PinnedRow& row : table) {
    if (row.platform == platform && row.problem == problem) return row.fields;
  }
  return std::nullopt;
}

std::string platform_text(std::size_t library, int driver, int compute_capability, int sm_count) {
  return "cublasLt " + std::to_string(library) + ", driver " + std::to_string(driver) + ", sm_" +
         std::to_string(compute_capability) + " x " + std::to_string(sm_count);
}

std::string problem_text(const ProductProblem& p) {
  std::string text = type_text(p.in) + " " + std::to_string(p.rows) + " x " +
                     std::to_string(p.columns) + " x " + std::to_string(p.depth) + " -> " +
                     type_text(p.out);
  if (p.finish != Finish::kNone) text += ", " + std::string(finish_in(kFinishNames, p.finish));
  return text;
}

std::string row_text(const PinnedRow& row) {
  const ProductProblem& p = row.problem;
  const AlgorithmFields& f = row.fields;
  std::string text = "{\"" + std::string(row.platform) + "\", {";
  for (const std::int64_t size : {p.rows, p.columns, p.depth}) text += std::to_string(size) + ", ";
  text += "Finish::" + std::string(finish_in(kFinishWords, p.finish));
  for (const DType type : {p.in, p.out}) text += type == DType::kBf16 ? ", kB" : ", kF";
  text += "}, {" + std::to_string(f.id);
  for (const std::int64_t value :
       {std::int64_t{f.tile}, std::int64_t{f.stages}, std::int64_t{f.split_k},
        std::int64_t{f.reduction}, std::int64_t{f.swizzle}, std::int64_t{f.custom},
        std::int64_t{f.inner_shape}, std::int64_t{f.cluster_shape}}) {
    text += ", " + std::to_string(value);
  }
  return text + "}},";
}

}  // namespace abba::cuda
