// The class behind make_backend. Its methods are in three files by phase: backend_weights.cpp (copy
// and pack), backend.cpp (shapes, transfer, making one), backend_operations.cpp (requests).
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/cpu/backend.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/product.h"
#include "engine/tensor/buffer.h"

namespace abba::cpu {

class CpuBackend final : public ops::Backend {
 public:
  explicit CpuBackend(const Settings& settings);

  std::string_view name() const override { return "cpu"; }
  ops::Precision precision() const override { return settings_.precision; }
  const ops::Choices& choices() const override { return settings_.choices; }
  std::string product_path() const override;
  std::size_t weight_bytes() const override;

  ops::WeightId prepare_matrix(std::string_view name, tensor::ConstView weight) override;
  ops::WeightId prepare_vector(std::string_view name, tensor::ConstView weight,
                               ops::VectorRole role) override;
  ops::WeightId prepare_table(std::string_view name, tensor::ConstView weight) override;
  ops::WeightId prepare_type_table(std::string_view name, tensor::ConstView weight) override;
  ops::WeightId prepare_rope(float theta, std::int64_t positions) override;

  ops::MatmulId plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                            ops::WeightId bias) override;
  void plan_attention(const ops::AttentionProblem& problem) override;
  void plan_attention(const ops::SubsetAttentionProblem& problem) override;
  std::unique_ptr<ops::Arena> make_arena(std::size_t size_bytes) override;

  void upload(const void* bytes, tensor::View to) override;
  void download(tensor::ConstView from, float* values) override;
  void synchronize() override {}

  void embed_norm(const ops::EmbedNormProblem& problem, ops::WeightId table, ops::WeightId gain,
                  tensor::ConstView ids, tensor::View residual, tensor::View normed) override;
  void layer_norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                  tensor::ConstView x, tensor::View y) override;
  void add_norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                tensor::ConstView branch, tensor::View residual, tensor::View y) override;
  void add(const ops::AddProblem& problem, tensor::ConstView branch,
           tensor::View residual) override;
  void rope(const ops::RopeProblem& problem, ops::WeightId table, tensor::View qkv) override;
  void attention(const ops::AttentionProblem& problem, tensor::ConstView qkv,
                 tensor::ConstView lengths, tensor::View out) override;
  void attention(const ops::SubsetAttentionProblem& problem, tensor::ConstView q,
                 tensor::ConstView kv, tensor::ConstView lengths, tensor::View out) override;
  void transpose_heads(const ops::TransposeHeadsProblem& problem, tensor::ConstView by_head,
                       tensor::View by_row) override;
  void matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) override;
  void add_bias(const ops::BiasProblem& problem, ops::WeightId bias, tensor::View y) override;
  void geglu(const ops::GegluProblem& problem, tensor::ConstView u, tensor::View g) override;
  void type_embedding(const ops::TypeEmbeddingProblem& problem, ops::WeightId table,
                      tensor::ConstView h, tensor::ConstView types, tensor::View x) override;
  void gather_rows(const ops::GatherProblem& problem, tensor::ConstView x,
                   tensor::ConstView indices, tensor::View y) override;
  void action_features(const ops::ActionFeaturesProblem& problem, tensor::ConstView raw_logits,
                       tensor::ConstView counts, tensor::ConstView first, tensor::View logits,
                       tensor::View features) override;

 private:
  enum class WeightKind { kMatrix, kVector, kTable, kTypeTable, kRope };
  struct Weight {
    WeightKind kind = WeightKind::kVector;
    int matrix = -1;          // kMatrix: its index in the product
    tensor::Buffer values;    // kVector, kRope: fp32; kTypeTable: act
    tensor::ConstView table;  // kTable: where it lies
  };
  // f(kernels of act, a value of type Act).
  template <typename F>
  void with_act(const F& f) const {
    if (settings_.precision == ops::Precision::kBf16) return f(kernels_.bf16, base::Bf16{});
    f(kernels_.fp32, float{});
  }
  [[nodiscard]] tensor::DType act() const;
  ops::WeightId keep(Weight weight);
  [[nodiscard]] const Weight& weight(ops::WeightId id, WeightKind kind) const;
  // [count] fp32 values of a prepared vector; nullptr for no id.
  [[nodiscard]] const float* vector(ops::WeightId id, std::int64_t count) const;
  void norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
            tensor::ConstView branch, float* x, tensor::View y);
  void reserve_attention(std::int64_t keys);
  float* attention_scratch(std::int64_t keys, int thread);

  Settings settings_;
  Description description_;
  const KernelTable& kernels_;
  std::unique_ptr<Product> product_;
  std::vector<Weight> weights_;
  std::size_t weight_bytes_ = 0;  // without the product's
  // (rows, weight, bias, epilogue): a shape planned again, after it was forgotten, adds nothing.
  std::map<std::tuple<std::int64_t, int, int, ops::Epilogue>, ops::MatmulId> planned_;
  std::int64_t most_keys_ = 0;
  std::vector<tensor::Buffer> attention_scratch_;  // one a thread
};

}  // namespace abba::cpu
