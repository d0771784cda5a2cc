// The class behind make_backend(); for the backend's own files and its tests. Requests are in
// backend_operations.cpp, matrix products in backend_products.cpp, weights in
// backend_weights.cpp, the choice of kernels in backend_kernels.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/cuda/backend.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/product.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/weight_memory.h"
#include "engine/tensor/buffer.h"

namespace abba::cuda {

class CudaBackend final : public ops::Backend {
 public:
  // `loader` is replaced by tests that make a kernel fail.
  CudaBackend(const Settings& settings, KernelLoader loader);
  ~CudaBackend() override;

  std::string_view name() const override { return "cuda"; }
  ops::Precision precision() const override { return settings_.precision; }
  const ops::Choices& choices() const override { return settings_.choices; }
  std::string product_path() const override;
  std::size_t weight_bytes() const override { return weight_memory_.taken_bytes(); }
  std::int64_t launch_count() const override { return state_.launches; }
  ops::Choices runnable_choices(const ops::Extent& extent, std::string* note) override;

  void begin_range(const char* name) override;
  void end_range() override;

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
  void plan_upload(std::size_t size_bytes) override;

  void upload(const void* bytes, tensor::View to) override;
  void upload_all(std::span<const ops::Transfer> transfers) override;
  void download(tensor::ConstView from, float* values) override;
  void synchronize() override;
  bool spin_before_wait(std::int64_t ns) override;

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

  // What everything is started on, for a Stopwatch.
  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] Report report() const;
  [[nodiscard]] const Product& product() const { return product_; }

 private:
  enum class WeightKind { kMatrix, kVector, kTable, kTypeTable, kRope };
  struct Weight {
    WeightKind kind = WeightKind::kVector;
    std::string name;
    tensor::Shape shape;
    tensor::DType dtype = tensor::DType::kF32;  // of `data`
    std::byte* data = nullptr;                  // kVector, kRope: fp32; kTable: as stored; else act
    std::byte* rounded = nullptr;               // a bias once more, as act, for the library
  };
  // `rows` of a product at a time: all of them, but for a gated one whose accumulators would not
  // stay in the cache.
  struct ProductPart {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    int plan = Product::kNoPlan;  // the library's, or without it
  };
  struct PlannedMatmul {
    ops::MatmulProblem problem;
    ops::WeightId weight;
    const void* bias = nullptr;  // as act
    std::vector<ProductPart> parts;
    std::optional<GatedTile> gated;  // gated_product.h: one kernel, no parts
  };

  [[nodiscard]] tensor::DType act() const;
  [[nodiscard]] LaunchContext context();
  ops::WeightId keep(Weight weight);
  std::byte* place(std::string_view name, tensor::ConstView host);
  [[nodiscard]] const Weight& weight(ops::WeightId id, WeightKind kind) const;
  // [count] fp32 values of a prepared vector; nullptr for no id.
  [[nodiscard]] const float* vector(ops::WeightId id, std::int64_t count) const;
  void copy_to_device(std::byte* to, const void* from, std::size_t size_bytes);
  void require_kernels(std::span<const KernelRow> rows);
  void choose_rope(ops::Choices& runnable, std::string* note);
  void choose_bias(ops::Choices& runnable, std::string* note);
  void check_attention(std::string_view refusal) const;
  void plan_tile(const AttentionExtent& extent);
  [[nodiscard]] AttentionTile tile_for(const AttentionExtent& extent) const;
  void note(int code, std::string_view what);
  // What comes out of the product itself, before a kernel finishes it.
  void multiply(const PlannedMatmul& planned, const ProductPart& part, const void* x, void* y);
  void note_library(int status);  // of a product that could not be started
  [[nodiscard]] std::optional<GatedTile> gated_tile_for(const ops::MatmulProblem& problem);
  void run_part(const PlannedMatmul& planned, const ProductPart& part, const std::byte* x,
                std::byte* y);

  Settings settings_;
  DeviceInfo device_;
  Stream stream_;
  Event staged_;
  KernelSet kernels_;
  LaunchState state_;
  Product product_;
  WeightMemory weight_memory_;
  std::vector<Weight> weights_;
  std::unordered_map<std::string, std::int32_t> weight_by_name_;
  std::vector<PlannedMatmul> matmuls_;
  std::array<AttentionTile, 3> tile_instead_ = {AttentionTile::kRows16, AttentionTile::kRows64,
                                                AttentionTile::kRows128};
  DeviceBuffer accumulators_;  // fp32 [rows, 2 * columns] of a gated product
  PinnedBuffer upload_staging_;
  PinnedBuffer download_staging_;
  std::size_t arena_bytes_ = 0;  // of the arenas alive; none outlives the backend
  int library_status_ = 0;       // of the first product that could not be started
  std::int64_t uploads_ = 0;
  std::int64_t synchronizations_ = 0;
  std::int64_t spin_ns_ = 0;  // before the next synchronize()
};

}  // namespace abba::cuda
