#include "engine/cuda/product.h"

#include <cublasLt.h>

#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace abba::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20U;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool has_bias(Finish finish) {
  return finish == Finish::kBias || finish == Finish::kReluBias;
}

cudaDataType_t type_of(tensor::DType type) {
  return type == tensor::DType::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtMatrixLayout_t raw(const MatrixLayout& layout) {
  return static_cast<cublasLtMatrixLayout_t>(layout.get());
}

template <typename T>
T read_field(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  require_lt(
      cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof(value), &written),
      "reading an algorithm");
  return value;
}

AlgorithmFields fields_of(const cublasLtMatmulAlgo_t& algo) {
  AlgorithmFields f;
  f.id = read_field<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_ID);
  f.tile = read_field<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID);
  f.stages = read_field<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  f.split_k = read_field<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  f.reduction = read_field<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  f.swizzle = read_field<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  f.custom = read_field<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  f.inner_shape = read_field<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  f.cluster_shape = read_field<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  return f;
}

template <typename T>
bool set_field(cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
               T value) {
  return cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof(value)) ==
         CUBLAS_STATUS_SUCCESS;
}

bool set_fields(cublasLtMatmulAlgo_t& algo, const AlgorithmFields& f) {
  return set_field(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, f.tile) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, f.stages) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, f.split_k) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, f.reduction) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, f.swizzle) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, f.custom) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, f.inner_shape) &&
         set_field(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, f.cluster_shape);
}

Algorithm algorithm_of(const cublasLtMatmulAlgo_t& algo) {
  Algorithm made;
  static_assert(sizeof(made.opaque) == sizeof(algo));
  std::memcpy(made.opaque.data(), &algo, sizeof(algo));
  made.fields = fields_of(algo);
  return made;
}

}  // namespace

Product::Product(std::string platform, ops::Gemm gemm)
    : platform_(std::move(platform)),
      gemm_(gemm),
      handle_(make_lt_handle()),
      workspace_(kWorkspaceBytes, "workspace of matrix products") {}

Product::Shape Product::make_shape(const ProductProblem& p) const {
  Shape shape;
  shape.weight = make_matrix_layout(p.in, p.depth, p.columns);
  shape.x = make_matrix_layout(p.in, p.depth, p.rows);
  shape.y = make_matrix_layout(p.out, p.columns, p.rows);
  return shape;
}

std::vector<Algorithm> Product::candidates(const ProductProblem& problem, int most) const {
  const Shape shape = make_shape(problem);
  // Only that there is a bias matters here, not where it lies.
  const void* bias = has_bias(problem.finish) ? workspace_.data() : nullptr;
  const MatmulDescriptor descriptor = make_matmul_descriptor(problem.finish, bias, problem.out);
  const MatmulPreference preference = make_matmul_preference(workspace_.size_bytes());
  std::vector<cublasLtMatmulHeuristicResult_t> found(at(most));
  int count = 0;
  cublasLtMatmulAlgoGetHeuristic(static_cast<cublasLtHandle_t>(handle_.get()),
                                 static_cast<cublasLtMatmulDesc_t>(descriptor.get()),
                                 raw(shape.weight), raw(shape.x), raw(shape.y), raw(shape.y),
                                 static_cast<cublasLtMatmulPreference_t>(preference.get()), most,
                                 found.data(), &count);
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < count; ++i) {
    if (found[at(i)].state != CUBLAS_STATUS_SUCCESS) continue;
    Algorithm algorithm = cuda::algorithm_of(found[at(i)].algo);
    if (algorithm.fields.split_k <= 1) algorithms.push_back(algorithm);
  }
  return algorithms;
}

std::optional<Algorithm> Product::algorithm_of(const ProductProblem& p,
                                               const AlgorithmFields& fields) const {
  auto* handle = static_cast<cublasLtHandle_t>(handle_.get());
  cublasLtMatmulAlgo_t algo{};
  const int status =
      cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, type_of(p.in), type_of(p.in),
                             type_of(p.out), type_of(p.out), fields.id, &algo);
  if (status != CUBLAS_STATUS_SUCCESS || !set_fields(algo, fields)) return std::nullopt;
  const Shape shape = make_shape(p);
  const void* bias = has_bias(p.finish) ? workspace_.data() : nullptr;
  const MatmulDescriptor descriptor = make_matmul_descriptor(p.finish, bias, p.out);
  cublasLtMatmulHeuristicResult_t result{};
  const int checked = cublasLtMatmulAlgoCheck(
      handle, static_cast<cublasLtMatmulDesc_t>(descriptor.get()), raw(shape.weight), raw(shape.x),
      raw(shape.y), raw(shape.y), &algo, &result);
  if (checked != CUBLAS_STATUS_SUCCESS || result.workspaceSize > workspace_.size_bytes()) {
    return std::nullopt;
  }
  return cuda::algorithm_of(algo);
}

std::optional<Algorithm> Product::pinned(const ProductProblem& problem) const {
  const auto fields = find_pinned(pinned_rows(), platform_, problem);
  if (!fields) return std::nullopt;
  std::optional<Algorithm> algorithm = algorithm_of(problem, *fields);
  if (algorithm) algorithm->is_pinned = true;
  return algorithm;
}

std::optional<Algorithm> Product::choose(const ProductProblem& problem) {
  if (gemm_ == ops::Gemm::kPinned) {
    if (const std::optional<Algorithm> algorithm = pinned(problem)) return algorithm;
    unpinned_.push_back(problem_text(problem));
  }
  const std::vector<Algorithm> proposed = candidates(problem, 8);
  if (!proposed.empty()) return proposed.front();
  refused_.push_back(problem_text(problem));
  return std::nullopt;
}

int Product::add_plan(int shape, const ProductProblem& problem, const void* bias) {
  ABBA_CHECK(has_bias(problem.finish) == (bias != nullptr));
  plans_.push_back({shape, make_matmul_descriptor(problem.finish, bias, problem.out)});
  return static_cast<int>(plans_.size()) - 1;
}

int Product::plan(const ProductProblem& problem, const void* bias) {
  ABBA_CHECK(problem.rows > 0 && problem.columns > 0 && problem.depth > 0);
  const auto found = shape_of_.find(problem);
  if (found != shape_of_.end()) {
    return found->second == kNoPlan ? kNoPlan : add_plan(found->second, problem, bias);
  }
  Shape shape = make_shape(problem);
  const std::optional<Algorithm> chosen = choose(problem);
  if (!chosen) return shape_of_[problem] = kNoPlan;
  shape.algorithm = *chosen;
  shapes_.push_back(std::move(shape));
  const int index = static_cast<int>(shapes_.size()) - 1;
  shape_of_[problem] = index;
  return add_plan(index, problem, bias);
}

std::vector<ProductProblem> Product::problems() const {
  std::vector<ProductProblem> all;
  for (const auto& [problem, index] : shape_of_) {
    if (index != kNoPlan) all.push_back(problem);
  }
  return all;
}

int Product::plan_with(const ProductProblem& problem, const Algorithm& algorithm,
                       const void* bias) {
  Shape shape = make_shape(problem);
  shape.algorithm = algorithm;
  shapes_.push_back(std::move(shape));
  return add_plan(static_cast<int>(shapes_.size()) - 1, problem, bias);
}

int Product::run(int index, const void* weight, const void* x, void* y, CUstream_st* stream) const {
  const Plan& plan = plans_[at(index)];
  const Shape& shape = shapes_[at(plan.shape)];
  const float one = 1.0F;
  const float zero = 0.0F;
  cublasLtMatmulAlgo_t algo{};
  std::memcpy(&algo, shape.algorithm.opaque.data(), sizeof(algo));
  return cublasLtMatmul(static_cast<cublasLtHandle_t>(handle_.get()),
                        static_cast<cublasLtMatmulDesc_t>(plan.descriptor.get()), &one, weight,
                        raw(shape.weight), x, raw(shape.x), &zero, y, raw(shape.y), y, raw(shape.y),
                        &algo, workspace_.data(), workspace_.size_bytes(), stream);
}

}  // namespace abba::cuda
