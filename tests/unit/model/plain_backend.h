// A backend made of the reference's operations: fp32 views, double arithmetic, no tricks. It shows
// that the forward pass is wired as the model is defined, whatever a real backend does.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/ops/backend.h"
#include "engine/ops/reference/reference_ops.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/convert.h"

namespace abba::model::testing {

namespace ref = ops::reference;
using ref::Values;

class PlainBackend : public ops::Backend {
 public:
  explicit PlainBackend(const ops::Choices& choices) : choices_(choices) {}

  std::string_view name() const override { return "plain"; }
  ops::Precision precision() const override { return ops::Precision::kFp32; }
  const ops::Choices& choices() const override { return choices_; }
  std::string product_path() const override { return "double"; }
  std::size_t weight_bytes() const override { return 0; }

  ops::WeightId prepare_matrix(std::string_view, tensor::ConstView w) override { return keep(w); }
  ops::WeightId prepare_vector(std::string_view, tensor::ConstView w, ops::VectorRole) override {
    return keep(w);
  }
  ops::WeightId prepare_table(std::string_view, tensor::ConstView w) override { return keep(w); }
  ops::WeightId prepare_type_table(std::string_view, tensor::ConstView w) override {
    return keep(w);
  }
  ops::WeightId prepare_rope(float theta, std::int64_t) override {
    weights_.push_back({theta});
    return last();
  }
  ops::MatmulId plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                            ops::WeightId bias) override {
    products_.push_back({problem, weight, bias});
    return {static_cast<std::int32_t>(products_.size()) - 1};
  }
  void plan_attention(const ops::AttentionProblem&) override {}
  void plan_attention(const ops::SubsetAttentionProblem&) override {}
  std::unique_ptr<ops::Arena> make_arena(std::size_t size_bytes) override {
    return std::make_unique<HostArena>(size_bytes);
  }
  void upload(const void* bytes, tensor::View to) override {
    std::copy_n(static_cast<const std::byte*>(bytes), to.size_bytes(),
                static_cast<std::byte*>(to.data()));
  }
  void download(tensor::ConstView from, float* values) override {
    std::copy_n(from.as<float>(), from.element_count(), values);
  }
  void synchronize() override {}

  void embed_norm(const ops::EmbedNormProblem& p, ops::WeightId table, ops::WeightId gain,
                  tensor::ConstView ids, tensor::View residual, tensor::View normed) override {
    const Values y = ref::embed_norm(p, weight(table), values(gain), ints(ids));
    write(y, residual);
    write(y, normed);
  }
  void layer_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                  tensor::ConstView x, tensor::View y) override {
    write(ref::layer_norm(p, read(x), values(gain), values(bias)), y);
  }
  void add_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                tensor::ConstView branch, tensor::View residual, tensor::View y) override {
    add({p.rows, p.hidden}, branch, residual);
    layer_norm(p, gain, bias, residual, y);
  }
  void add(const ops::AddProblem&, tensor::ConstView branch, tensor::View residual) override {
    for (std::int64_t i = 0; i < branch.element_count(); ++i) {
      residual.as<float>()[i] += branch.as<float>()[i];
    }
  }
  void rope(const ops::RopeProblem& p, ops::WeightId table, tensor::View qkv) override {
    Values x = read(qkv);
    ref::rope(p, weight(table)[0], false, x);
    write(x, qkv);
  }
  void attention(const ops::AttentionProblem& p, tensor::ConstView qkv, tensor::ConstView lengths,
                 tensor::View out) override {
    write_attention(ref::attention(p, read(qkv), ints(lengths)), p.batch, p.length, p.heads,
                    p.layout, out);
  }
  void attention(const ops::SubsetAttentionProblem& p, tensor::ConstView q, tensor::ConstView kv,
                 tensor::ConstView lengths, tensor::View out) override {
    write_attention(ref::attention(p, read(q), read(kv), ints(lengths)), p.batch, p.queries,
                    p.heads, p.layout, out);
  }
  void transpose_heads(const ops::TransposeHeadsProblem& p, tensor::ConstView by_head,
                       tensor::View by_row) override {
    write(ref::transpose_heads(p, read(by_head)), by_row);
  }
  void matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) override {
    const Product& product = products_.at(static_cast<std::size_t>(id.index));
    write(ref::matmul(product.problem, read(x), weight(product.weight), values(product.bias)), y);
  }
  void add_bias(const ops::BiasProblem& p, ops::WeightId bias, tensor::View y) override {
    Values sum = read(y);
    ref::add_bias(p, values(bias), sum);
    write(sum, y);
  }
  void geglu(const ops::GegluProblem& p, tensor::ConstView u, tensor::View g) override {
    write(ref::geglu(p, read(u)), g);
  }
  void type_embedding(const ops::TypeEmbeddingProblem& p, ops::WeightId table, tensor::ConstView h,
                      tensor::ConstView types, tensor::View x) override {
    write(ref::type_embedding(p, read(h), values(table), ints(types)), x);
  }
  void gather_rows(const ops::GatherProblem& p, tensor::ConstView x, tensor::ConstView indices,
                   tensor::View y) override {
    write(ref::gather_rows(p, read(x), ints(indices)), y);
  }
  void action_features(const ops::ActionFeaturesProblem& p, tensor::ConstView raw_logits,
                       tensor::ConstView counts, tensor::ConstView first, tensor::View logits,
                       tensor::View features) override {
    const auto result = ref::action_features(p, read(raw_logits), ints(counts), read(first));
    write(result.logits, logits);
    write(result.features, features);
  }

 private:
  // Filled with NaN, so that a value read before it is written shows.
  class HostArena : public ops::Arena {
   public:
    explicit HostArena(std::size_t size_bytes)
        : buffer_(tensor::DType::kU8, {static_cast<std::int64_t>(size_bytes)}) {
      buffer_.poison();
    }
    std::byte* data() override { return reinterpret_cast<std::byte*>(buffer_.as<std::uint8_t>()); }
    std::size_t size_bytes() const override { return buffer_.view().size_bytes(); }

   private:
    tensor::Buffer buffer_;
  };
  struct Product {
    ops::MatmulProblem problem;
    ops::WeightId weight, bias;
  };

  ops::WeightId last() const { return {static_cast<std::int32_t>(weights_.size()) - 1}; }
  ops::WeightId keep(tensor::ConstView view) {
    std::vector<float> copy(static_cast<std::size_t>(view.element_count()));
    tensor::convert(view, copy.data());
    weights_.push_back(std::move(copy));
    return last();
  }
  const std::vector<float>& weight(ops::WeightId id) const {
    return weights_.at(static_cast<std::size_t>(id.index));
  }
  Values values(ops::WeightId id) const {
    if (!id.is_valid()) return {};
    return {weight(id).begin(), weight(id).end()};
  }
  static std::span<const std::int32_t> ints(tensor::ConstView view) {
    return {view.as<std::int32_t>(), static_cast<std::size_t>(view.element_count())};
  }
  static Values read(tensor::ConstView view) {
    return {view.as<float>(), view.as<float>() + view.element_count()};
  }
  static void write(const Values& values, tensor::View to) {
    ABBA_CHECK(static_cast<std::int64_t>(values.size()) == to.element_count());
    for (std::size_t i = 0; i < values.size(); ++i)
      to.as<float>()[i] = static_cast<float>(values[i]);
  }
  static void write_attention(const Values& by_row, std::int64_t batch, std::int64_t rows,
                              std::int64_t heads, ops::AttentionOutput layout, tensor::View to) {
    if (layout == ops::AttentionOutput::kRowMajor) return write(by_row, to);
    write(regroup(by_row, batch, rows, heads), to);
  }
  static Values regroup(const Values& by_row, std::int64_t batch, std::int64_t rows,
                        std::int64_t heads) {
    Values by_head(by_row.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(by_row.size()); ++i) {
      const std::int64_t c = i % ops::kHeadDim;
      const std::int64_t h = i / ops::kHeadDim % heads;
      const std::int64_t r = i / ops::kHeadDim / heads % rows;
      const std::int64_t b = i / ops::kHeadDim / heads / rows;
      ABBA_CHECK(b < batch);
      by_head[static_cast<std::size_t>(((b * heads + h) * rows + r) * ops::kHeadDim + c)] =
          by_row[static_cast<std::size_t>(i)];
    }
    return by_head;
  }

  ops::Choices choices_;
  std::deque<std::vector<float>> weights_;
  std::deque<Product> products_;
};

}  // namespace abba::model::testing
