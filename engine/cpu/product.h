// The matrix product: y = epilogue(x W^T + bias) with W prepared once. One implementation per way
// of multiplying; the library that does it is named in their .cpp files only. Owned here: weights
// and scratch. Scratch grows in plan(); run() allocates nothing of ours (the library's own sgemm
// takes and returns its packing buffers in every call).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/cpu/kernels.h"
#include "engine/ops/problem.h"
#include "engine/tensor/view.h"

namespace abba::cpu {

struct ProductSettings {
  const KernelTable* kernels = nullptr;
  ops::Precision precision = ops::Precision::kBf16;
  int threads = 1;
};

class Product {
 public:
  virtual ~Product() = default;
  // [N, K], F32, F16 or BF16, contiguous; copied, rounded to act. Returns its index.
  virtual int add_weight(std::string_view name, tensor::ConstView weight) = 0;
  // Of a weight: [N, K].
  [[nodiscard]] virtual const tensor::Shape& shape_of(int weight) const = 0;
  [[nodiscard]] virtual std::size_t weight_bytes() const = 0;
  // Returns the index of the plan; throws base::Error if the library refuses.
  virtual int plan(const ops::MatmulProblem& problem, int weight, const float* bias) = 0;
  [[nodiscard]] virtual const ops::MatmulProblem& problem_of(int plan) const = 0;
  // x, y act: [M, K], [M, N], contiguous.
  virtual void run(int plan, const void* x, void* y) = 0;
};

std::unique_ptr<Product> make_widened_product(const ProductSettings& settings);
std::unique_ptr<Product> make_bf16_product(const ProductSettings& settings);

}  // namespace abba::cpu
