// A backend that passes everything on to a real one and, while asked to, keeps each operation as a
// call that can be made again: what a profile of the forward pass is made of. Borrows the real one.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/backend.h"

namespace abba::laya {

// One operation at one size: every call of it in a pass, each with its own weights and memory.
struct RecordedOperation {
  std::string name;  // "matmul 48 x 3072 x 1024"
  std::vector<std::function<void()>> calls;
};

class RecordingBackend final : public ops::Backend {
 public:
  explicit RecordingBackend(ops::Backend& real) : real_(real) {}

  void start_recording() { is_recording_ = true; }
  // In the order of first calls.
  std::vector<RecordedOperation> stop_recording() {
    is_recording_ = false;
    return std::move(operations_);
  }

  std::string_view name() const override { return real_.name(); }
  ops::Precision precision() const override { return real_.precision(); }
  const ops::Choices& choices() const override { return real_.choices(); }
  std::string product_path() const override { return real_.product_path(); }
  std::size_t weight_bytes() const override { return real_.weight_bytes(); }
  std::int64_t launch_count() const override { return real_.launch_count(); }
  ops::Choices runnable_choices(const ops::Extent& extent, std::string* note) override {
    return real_.runnable_choices(extent, note);
  }
  void begin_range(const char* range) override { real_.begin_range(range); }
  void end_range() override { real_.end_range(); }
  ops::WeightId prepare_matrix(std::string_view weight, tensor::ConstView w) override {
    return real_.prepare_matrix(weight, w);
  }
  ops::WeightId prepare_vector(std::string_view weight, tensor::ConstView w,
                               ops::VectorRole role) override {
    return real_.prepare_vector(weight, w, role);
  }
  ops::WeightId prepare_table(std::string_view weight, tensor::ConstView w) override {
    return real_.prepare_table(weight, w);
  }
  ops::WeightId prepare_type_table(std::string_view weight, tensor::ConstView w) override {
    return real_.prepare_type_table(weight, w);
  }
  ops::WeightId prepare_rope(float theta, std::int64_t positions) override {
    return real_.prepare_rope(theta, positions);
  }
  ops::MatmulId plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                            ops::WeightId bias) override;
  void plan_attention(const ops::AttentionProblem& p) override { real_.plan_attention(p); }
  void plan_attention(const ops::SubsetAttentionProblem& p) override { real_.plan_attention(p); }
  std::unique_ptr<ops::Arena> make_arena(std::size_t size) override {
    return real_.make_arena(size);
  }
  void plan_upload(std::size_t size) override { real_.plan_upload(size); }
  void upload(const void* bytes, tensor::View to) override { real_.upload(bytes, to); }
  void upload_all(std::span<const ops::Transfer> group) override { real_.upload_all(group); }
  void download(tensor::ConstView from, float* values) override { real_.download(from, values); }
  void synchronize() override { real_.synchronize(); }

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
  // Makes the call, and keeps it under name() while recording; else it costs the call alone.
  template <typename Name, typename Call>
  void pass(const Name& name, const Call& call) {
    call();
    if (is_recording_) keep(name(), call);
  }
  void keep(std::string operation, std::function<void()> call);

  ops::Backend& real_;
  bool is_recording_ = false;
  std::vector<RecordedOperation> operations_;
  std::vector<ops::MatmulProblem> products_;  // by MatmulId
};

}  // namespace abba::laya
