// A backend that passes everything on to a real one and does one thing wrong: what the output
// checks must notice. Activations are touched through upload and download alone, so the real one
// may keep them on a device.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/half.h"
#include "engine/ops/backend.h"

namespace abba::model::testing {

enum class Sabotage {
  kNone,             // the control of the controls: passes everything on
  kAttentionOff,     // the attention of encoder layer `layer` gives zeros
  kWindowTooNarrow,  // |i - j| <= 63
  kWindowTooWide,    // |i - j| <= 65
  kGegluSwapped,     // encoder layer `layer` takes its gate for the activated half
  kValuesRotated,    // RoPE turns v too
};

class SabotagedBackend : public ops::Backend {
 public:
  SabotagedBackend(ops::Backend& real, Sabotage sabotage, int layer)
      : real_(real), sabotage_(sabotage), layer_(layer) {}

  std::string_view name() const override { return real_.name(); }
  ops::Precision precision() const override { return real_.precision(); }
  const ops::Choices& choices() const override { return real_.choices(); }
  std::string product_path() const override { return real_.product_path(); }
  std::size_t weight_bytes() const override { return real_.weight_bytes(); }

  ops::WeightId prepare_matrix(std::string_view name, tensor::ConstView w) override {
    const std::string target = "encoder.layers." + std::to_string(layer_) + ".mlp.Wi.weight";
    if (sabotage_ != Sabotage::kGegluSwapped || name != target)
      return real_.prepare_matrix(name, w);
    const std::size_t half = w.size_bytes() / 2;
    std::vector<std::byte> swapped(2 * half);
    std::memcpy(swapped.data(), static_cast<const std::byte*>(w.data()) + half, half);
    std::memcpy(swapped.data() + half, w.data(), half);
    return real_.prepare_matrix(name, {swapped.data(), w.dtype(), w.shape()});
  }
  ops::WeightId prepare_vector(std::string_view name, tensor::ConstView w,
                               ops::VectorRole role) override {
    return real_.prepare_vector(name, w, role);
  }
  ops::WeightId prepare_table(std::string_view name, tensor::ConstView w) override {
    return real_.prepare_table(name, w);
  }
  ops::WeightId prepare_type_table(std::string_view name, tensor::ConstView w) override {
    return real_.prepare_type_table(name, w);
  }
  ops::WeightId prepare_rope(float theta, std::int64_t positions) override {
    return real_.prepare_rope(theta, positions);
  }
  ops::MatmulId plan_matmul(const ops::MatmulProblem& p, ops::WeightId w,
                            ops::WeightId bias) override {
    return real_.plan_matmul(p, w, bias);
  }
  void plan_attention(const ops::AttentionProblem& p) override { real_.plan_attention(changed(p)); }
  void plan_attention(const ops::SubsetAttentionProblem& p) override { real_.plan_attention(p); }
  std::unique_ptr<ops::Arena> make_arena(std::size_t size) override {
    return real_.make_arena(size);
  }
  void upload(const void* bytes, tensor::View to) override { real_.upload(bytes, to); }
  void download(tensor::ConstView from, float* values) override { real_.download(from, values); }
  void synchronize() override { real_.synchronize(); }

  void embed_norm(const ops::EmbedNormProblem& p, ops::WeightId table, ops::WeightId gain,
                  tensor::ConstView ids, tensor::View residual, tensor::View normed) override {
    attentions_seen_ = 0;
    real_.embed_norm(p, table, gain, ids, residual, normed);
  }
  void layer_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                  tensor::ConstView x, tensor::View y) override {
    real_.layer_norm(p, gain, bias, x, y);
  }
  void add_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                tensor::ConstView branch, tensor::View residual, tensor::View y) override {
    real_.add_norm(p, gain, bias, branch, residual, y);
  }
  void add(const ops::AddProblem& p, tensor::ConstView branch, tensor::View residual) override {
    real_.add(p, branch, residual);
  }
  void rope(const ops::RopeProblem& p, ops::WeightId table, tensor::View qkv) override {
    if (sabotage_ != Sabotage::kValuesRotated) return real_.rope(p, table, qkv);
    const std::vector<float> before = values_of(qkv);
    const std::size_t width = before.size() / static_cast<std::size_t>(p.batch * p.length) / 3;
    std::vector<float> turned = before;
    for (std::size_t token = 0; token < turned.size(); token += 3 * width) {
      std::copy_n(&before[token + 2 * width], width, &turned[token]);  // v where q was
    }
    put(turned, qkv);
    real_.rope(p, table, qkv);
    turned = values_of(qkv);
    put(before, qkv);
    real_.rope(p, table, qkv);
    std::vector<float> wrong = values_of(qkv);
    for (std::size_t token = 0; token < turned.size(); token += 3 * width) {
      std::copy_n(&turned[token], width, &wrong[token + 2 * width]);
    }
    put(wrong, qkv);
  }
  void attention(const ops::AttentionProblem& p, tensor::ConstView qkv, tensor::ConstView lengths,
                 tensor::View out) override {
    real_.attention(changed(p), qkv, lengths, out);
    const bool here = sabotage_ == Sabotage::kAttentionOff && attentions_seen_ == layer_;
    if (here) put(std::vector<float>(static_cast<std::size_t>(out.element_count()), 0.0F), out);
    ++attentions_seen_;
  }
  void attention(const ops::SubsetAttentionProblem& p, tensor::ConstView q, tensor::ConstView kv,
                 tensor::ConstView lengths, tensor::View out) override {
    real_.attention(p, q, kv, lengths, out);
  }
  void transpose_heads(const ops::TransposeHeadsProblem& p, tensor::ConstView by_head,
                       tensor::View by_row) override {
    real_.transpose_heads(p, by_head, by_row);
  }
  void matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) override {
    real_.matmul(id, x, y);
  }
  void add_bias(const ops::BiasProblem& p, ops::WeightId bias, tensor::View y) override {
    real_.add_bias(p, bias, y);
  }
  void geglu(const ops::GegluProblem& p, tensor::ConstView u, tensor::View g) override {
    real_.geglu(p, u, g);
  }
  void type_embedding(const ops::TypeEmbeddingProblem& p, ops::WeightId table, tensor::ConstView h,
                      tensor::ConstView types, tensor::View x) override {
    real_.type_embedding(p, table, h, types, x);
  }
  void gather_rows(const ops::GatherProblem& p, tensor::ConstView x, tensor::ConstView indices,
                   tensor::View y) override {
    real_.gather_rows(p, x, indices, y);
  }
  void action_features(const ops::ActionFeaturesProblem& p, tensor::ConstView raw,
                       tensor::ConstView counts, tensor::ConstView first, tensor::View logits,
                       tensor::View features) override {
    real_.action_features(p, raw, counts, first, logits, features);
  }

 private:
  std::vector<float> values_of(tensor::ConstView from) {
    std::vector<float> values(static_cast<std::size_t>(from.element_count()));
    real_.download(from, values.data());
    return values;
  }
  // `values` are representable in the type of `to`.
  void put(const std::vector<float>& values, tensor::View to) {
    if (to.dtype() == tensor::DType::kF32) {
      real_.upload(values.data(), to);
      return real_.synchronize();
    }
    std::vector<base::Bf16> narrow(values.size());
    base::convert(values.data(), narrow.data(), values.size());
    real_.upload(narrow.data(), to);
    real_.synchronize();
  }
  ops::AttentionProblem changed(ops::AttentionProblem p) const {
    if (p.half_window < 0) return p;
    if (sabotage_ == Sabotage::kWindowTooNarrow) --p.half_window;
    if (sabotage_ == Sabotage::kWindowTooWide) ++p.half_window;
    return p;
  }

  ops::Backend& real_;
  const Sabotage sabotage_;
  const int layer_;
  int attentions_seen_ = 0;
};

}  // namespace abba::model::testing
