#include "experiments/laya/recording_backend.h"

#include <algorithm>
#include <initializer_list>

namespace abba::laya {
namespace {

using tensor::ConstView;
using tensor::View;

std::string named(const char* operation, std::initializer_list<std::int64_t> sizes,
                  const char* more = "") {
  std::string text = operation;
  const char* separator = " ";
  for (const std::int64_t size : sizes) {
    text += separator + std::to_string(size);
    separator = " x ";
  }
  return text + more;
}

const char* epilogue_text(const ops::MatmulProblem& problem) {
  switch (problem.epilogue) {
    case ops::Epilogue::kGeglu:
      return " geglu";
    case ops::Epilogue::kGelu:
      return " gelu";
    case ops::Epilogue::kRelu:
      return " relu";
    default:
      return "";
  }
}

}  // namespace

void RecordingBackend::keep(std::string operation, std::function<void()> call) {
  auto found = std::find_if(operations_.begin(), operations_.end(),
                            [&](const RecordedOperation& o) { return o.name == operation; });
  if (found == operations_.end()) {
    operations_.push_back({std::move(operation), {}});
    found = operations_.end() - 1;
  }
  found->calls.push_back(std::move(call));
}

ops::MatmulId RecordingBackend::plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                                            ops::WeightId bias) {
  const ops::MatmulId id = real_.plan_matmul(problem, weight, bias);
  const auto index = static_cast<std::size_t>(id.index);
  if (products_.size() <= index) products_.resize(index + 1);
  products_[index] = problem;
  return id;
}

void RecordingBackend::embed_norm(const ops::EmbedNormProblem& p, ops::WeightId table,
                                  ops::WeightId gain, ConstView ids, View residual, View normed) {
  pass(
      [&] {
        return named("embed_norm", {p.rows, p.hidden});
      },
      [=, this] { real_.embed_norm(p, table, gain, ids, residual, normed); });
}

void RecordingBackend::layer_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                                  ConstView x, View y) {
  pass(
      [&] {
        return named("layer_norm", {p.rows, p.hidden});
      },
      [=, this] { real_.layer_norm(p, gain, bias, x, y); });
}

void RecordingBackend::add_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias,
                                ConstView branch, View residual, View y) {
  pass(
      [&] {
        return named("add_norm", {p.rows, p.hidden});
      },
      [=, this] { real_.add_norm(p, gain, bias, branch, residual, y); });
}

void RecordingBackend::add(const ops::AddProblem& p, ConstView branch, View residual) {
  pass(
      [&] {
        return named("add", {p.rows, p.hidden});
      },
      [=, this] { real_.add(p, branch, residual); });
}

void RecordingBackend::rope(const ops::RopeProblem& p, ops::WeightId table, View qkv) {
  pass(
      [&] {
        return named("rope", {p.batch, p.length, p.heads});
      },
      [=, this] { real_.rope(p, table, qkv); });
}

void RecordingBackend::attention(const ops::AttentionProblem& p, ConstView qkv, ConstView lengths,
                                 View out) {
  const char* reach = p.half_window == ops::kFullAttention ? " full" : " windowed";
  pass(
      [&] {
        return named("attention", {p.batch, p.length, p.heads}, reach);
      },
      [=, this] { real_.attention(p, qkv, lengths, out); });
}

void RecordingBackend::attention(const ops::SubsetAttentionProblem& p, ConstView q, ConstView kv,
                                 ConstView lengths, View out) {
  pass(
      [&] {
        return named("attention of chosen rows", {p.batch, p.queries, p.keys, p.heads});
      },
      [=, this] { real_.attention(p, q, kv, lengths, out); });
}

void RecordingBackend::transpose_heads(const ops::TransposeHeadsProblem& p, ConstView by_head,
                                       View by_row) {
  pass(
      [&] {
        return named("transpose_heads", {p.batch, p.rows, p.heads});
      },
      [=, this] { real_.transpose_heads(p, by_head, by_row); });
}

void RecordingBackend::matmul(ops::MatmulId id, ConstView x, View y) {
  const ops::MatmulProblem& p = products_.at(static_cast<std::size_t>(id.index));
  pass(
      [&] {
        return named("matmul", {p.rows, p.columns, p.depth}, epilogue_text(p));
      },
      [=, this] { real_.matmul(id, x, y); });
}

void RecordingBackend::add_bias(const ops::BiasProblem& p, ops::WeightId bias, View y) {
  pass(
      [&] {
        return named("add_bias", {p.rows, p.columns}, p.relu ? " relu" : "");
      },
      [=, this] { real_.add_bias(p, bias, y); });
}

void RecordingBackend::geglu(const ops::GegluProblem& p, ConstView u, View g) {
  pass([&] { return named("geglu", {p.rows, p.columns}); }, [=, this] { real_.geglu(p, u, g); });
}

void RecordingBackend::type_embedding(const ops::TypeEmbeddingProblem& p, ops::WeightId table,
                                      ConstView h, ConstView types, View x) {
  pass(
      [&] {
        return named("type_embedding", {p.batch * p.length, p.hidden});
      },
      [=, this] { real_.type_embedding(p, table, h, types, x); });
}

void RecordingBackend::gather_rows(const ops::GatherProblem& p, ConstView x, ConstView indices,
                                   View y) {
  pass(
      [&] {
        return named("gather_rows", {p.picked, p.hidden});
      },
      [=, this] { real_.gather_rows(p, x, indices, y); });
}

void RecordingBackend::action_features(const ops::ActionFeaturesProblem& p, ConstView raw_logits,
                                       ConstView counts, ConstView first, View logits,
                                       View features) {
  pass(
      [&] {
        return named("action_features", {p.batch, p.options});
      },
      [=, this] { real_.action_features(p, raw_logits, counts, first, logits, features); });
}

}  // namespace abba::laya
