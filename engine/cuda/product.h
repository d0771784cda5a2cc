// Matrix products through cuBLASLt: what is planned once (layouts, descriptor, algorithm) and what
// is run. Owns the library's handle and the workspace of one stream. Products are never split along
// K, so a row's additions have one order for a given algorithm. Where the algorithm comes from is
// the factor `gemm`, read here alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/algorithm.h"
#include "engine/cuda/cublaslt.h"
#include "engine/cuda/memory.h"
#include "engine/ops/variant.h"

struct CUstream_st;

namespace abba::cuda {

struct Algorithm {
  std::array<std::uint64_t, 8> opaque{};  // cublasLtMatmulAlgo_t
  AlgorithmFields fields;
  bool is_pinned = false;
};

class Product {
 public:
  Product(std::string platform, ops::Gemm gemm);

  // `bias` is a device address of `columns` values of type out, null unless the problem has one.
  // Equal problems share one choice. kNoPlan if the library has no algorithm.
  static constexpr int kNoPlan = -1;
  int plan(const ProductProblem& problem, const void* bias);
  // Starts the product; the addresses are multiples of kProductAlignmentBytes. Returns the
  // library's status, 0 for success.
  int run(int plan, const void* weight, const void* x, void* y, CUstream_st* stream) const;

  // Up to `most` algorithms the library proposes for the problem, best first.
  std::vector<Algorithm> candidates(const ProductProblem& problem, int most) const;
  // The algorithm that `fields` describe, if the library accepts it for the problem here.
  std::optional<Algorithm> algorithm_of(const ProductProblem& problem,
                                        const AlgorithmFields& fields) const;
  // Plans `problem` with one of them.
  int plan_with(const ProductProblem& problem, const Algorithm& algorithm, const void* bias);

  // Problems planned so far.
  [[nodiscard]] std::vector<ProductProblem> problems() const;
  [[nodiscard]] const std::string& platform() const { return platform_; }
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_.size_bytes(); }
  // Problems planned so far for which gemm = pinned found no row.
  [[nodiscard]] const std::vector<std::string>& unpinned() const { return unpinned_; }
  // Problems for which the library has no algorithm on this device.
  [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }

 private:
  struct Shape {
    MatrixLayout weight, x, y;
    Algorithm algorithm;
  };
  struct Plan {
    int shape = 0;
    MatmulDescriptor descriptor;
  };
  Shape make_shape(const ProductProblem& problem) const;
  std::optional<Algorithm> choose(const ProductProblem& problem);
  std::optional<Algorithm> pinned(const ProductProblem& problem) const;
  int add_plan(int shape, const ProductProblem& problem, const void* bias);

  std::string platform_;
  ops::Gemm gemm_;
  LtHandle handle_;
  DeviceBuffer workspace_;
  std::map<ProductProblem, int> shape_of_;
  std::vector<Shape> shapes_;
  std::vector<Plan> plans_;
  std::vector<std::string> unpinned_;
  std::vector<std::string> refused_;
};

}  // namespace abba::cuda
