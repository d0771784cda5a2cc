// A backend that passes everything on to another and, while recording, keeps every operation of a
// request with its label, its size and a way to run it again on the same buffers: what a profile is
// made of. Owns nothing of the wrapped backend, which must outlive it; recorded calls are valid as
// long as the network and the batch that made them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/ops/backend.h"
#include "engine/ops/work.h"

namespace abba::laya {

struct RecordedCall {
  std::string op;      // with the level that chose it: "rope[row_block_32]", "matmul"
  std::string shape;   // "48 x 3072 x 1024"
  bool waits = false;  // the host waits in it: it cannot be queued behind others
  ops::Work work;      // zero for transfers
  std::function<void()> again;
};

// Every call of one operation at one size, each with its own weights and memory.
struct RecordedOperation {
  RecordedCall call;  // the first
  std::vector<std::function<void()>> calls;
};
// In the order of first calls.
std::vector<RecordedOperation> by_operation(const std::vector<RecordedCall>& calls);

class RecordingBackend final : public ops::Backend {
 public:
  explicit RecordingBackend(ops::Backend& inner) : inner_(inner) {}

  void start() {
    calls_.clear();
    recording_ = true;
  }
  std::vector<RecordedCall> stop() {
    recording_ = false;
    return std::move(calls_);
  }

  std::string_view name() const override { return inner_.name(); }
  ops::Precision precision() const override { return inner_.precision(); }
  const ops::Choices& choices() const override { return inner_.choices(); }
  std::string product_path() const override { return inner_.product_path(); }
  void begin_range(const char* range) override { inner_.begin_range(range); }
  void end_range() override { inner_.end_range(); }
  std::size_t weight_bytes() const override { return inner_.weight_bytes(); }
  std::int64_t launch_count() const override { return inner_.launch_count(); }
  ops::Choices runnable_choices(const ops::Extent& extent, std::string* note) override {
    return inner_.runnable_choices(extent, note);
  }

  ops::WeightId prepare_matrix(std::string_view name, tensor::ConstView weight) override {
    return inner_.prepare_matrix(name, weight);
  }
  ops::WeightId prepare_vector(std::string_view name, tensor::ConstView weight,
                               ops::VectorRole role) override {
    return inner_.prepare_vector(name, weight, role);
  }
  ops::WeightId prepare_table(std::string_view name, tensor::ConstView weight) override {
    return inner_.prepare_table(name, weight);
  }
  ops::WeightId prepare_type_table(std::string_view name, tensor::ConstView weight) override {
    return inner_.prepare_type_table(name, weight);
  }
  ops::WeightId prepare_rope(float theta, std::int64_t positions) override {
    return inner_.prepare_rope(theta, positions);
  }

  ops::MatmulId plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                            ops::WeightId bias) override;
  void plan_attention(const ops::AttentionProblem& problem) override {
    inner_.plan_attention(problem);
  }
  void plan_attention(const ops::SubsetAttentionProblem& problem) override {
    inner_.plan_attention(problem);
  }
  std::unique_ptr<ops::Arena> make_arena(std::size_t size_bytes) override {
    return inner_.make_arena(size_bytes);
  }
  void plan_upload(std::size_t size_bytes) override { inner_.plan_upload(size_bytes); }

  void upload(const void* bytes, tensor::View to) override;
  void upload_all(std::span<const ops::Transfer> transfers) override;
  void download(tensor::ConstView from, float* values) override;
  void synchronize() override { inner_.synchronize(); }

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
  // Runs the call and keeps it.
  void run(std::string op, std::string shape, const ops::Work& work, std::function<void()> call,
           bool waits = false);
  [[nodiscard]] std::string level(std::string_view factor) const;

  ops::Backend& inner_;
  bool recording_ = false;
  std::vector<RecordedCall> calls_;
  std::map<std::int32_t, ops::MatmulProblem> matmuls_;  // by id
};

}  // namespace abba::laya
