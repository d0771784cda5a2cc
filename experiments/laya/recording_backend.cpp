#include "experiments/laya/recording_backend.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace abba::laya {
namespace {

std::string sizes(std::initializer_list<std::int64_t> values) {
  std::string text;
  for (const std::int64_t value : values) {
    text += (text.empty() ? "" : " x ") + std::to_string(value);
  }
  return text;
}

std::string epilogue_text(const ops::MatmulProblem& problem) {
  const char* names[] = {"", ", relu", ", gelu", ", geglu"};
  return std::string(problem.has_bias ? ", bias" : "") +
         names[static_cast<std::size_t>(problem.epilogue)];
}

}  // namespace

std::vector<RecordedOperation> by_operation(const std::vector<RecordedCall>& calls) {
  std::vector<RecordedOperation> operations;
  for (const RecordedCall& call : calls) {
    auto found = std::find_if(operations.begin(), operations.end(), [&](const auto& other) {
      return other.call.op == call.op && other.call.shape == call.shape;
    });
    if (found == operations.end()) {
      operations.push_back({call, {}});
      found = operations.end() - 1;
    }
    found->calls.push_back(call.again);
  }
  return operations;
}

void RecordingBackend::run(std::string op, std::string shape, const ops::Work& work,
                           std::function<void()> call, bool waits) {
  call();
  if (recording_) {
    calls_.push_back({std::move(op), std::move(shape), waits, work, std::move(call)});
  }
}

std::string RecordingBackend::level(std::string_view factor) const {
  return "[" + std::string(ops::level_of(inner_.choices(), factor)) + "]";
}

ops::MatmulId RecordingBackend::plan_matmul(const ops::MatmulProblem& problem, ops::WeightId weight,
                                            ops::WeightId bias) {
  const ops::MatmulId id = inner_.plan_matmul(problem, weight, bias);
  matmuls_[id.index] = problem;
  return id;
}

void RecordingBackend::upload(const void* bytes, tensor::View to) {
  run(
      "upload" + level("upload"), std::to_string(to.size_bytes()) + " B", {},
      [=, this] { inner_.upload(bytes, to); }, true);
}

void RecordingBackend::upload_all(std::span<const ops::Transfer> transfers) {
  std::vector<ops::Transfer> kept(transfers.begin(), transfers.end());
  run(
      "upload" + level("upload"), std::to_string(kept.size()) + " in a group", {},
      [this, kept] { inner_.upload_all(kept); }, true);
}

void RecordingBackend::download(tensor::ConstView from, float* values) {
  run(
      "download", std::to_string(from.size_bytes()) + " B", {},
      [=, this] { inner_.download(from, values); }, true);
}

void RecordingBackend::embed_norm(const ops::EmbedNormProblem& problem, ops::WeightId table,
                                  ops::WeightId gain, tensor::ConstView ids, tensor::View residual,
                                  tensor::View normed) {
  run("embed_norm", sizes({problem.rows, problem.hidden}), work_of(problem, precision()),
      [=, this] { inner_.embed_norm(problem, table, gain, ids, residual, normed); });
}

void RecordingBackend::layer_norm(const ops::NormProblem& problem, ops::WeightId gain,
                                  ops::WeightId bias, tensor::ConstView x, tensor::View y) {
  run("layer_norm", sizes({problem.rows, problem.hidden}), work_of(problem, precision(), false),
      [=, this] { inner_.layer_norm(problem, gain, bias, x, y); });
}

void RecordingBackend::add_norm(const ops::NormProblem& problem, ops::WeightId gain,
                                ops::WeightId bias, tensor::ConstView branch, tensor::View residual,
                                tensor::View y) {
  run("add_norm", sizes({problem.rows, problem.hidden}), work_of(problem, precision(), true),
      [=, this] { inner_.add_norm(problem, gain, bias, branch, residual, y); });
}

void RecordingBackend::add(const ops::AddProblem& problem, tensor::ConstView branch,
                           tensor::View residual) {
  run("add", sizes({problem.rows, problem.hidden}), work_of(problem, precision()),
      [=, this] { inner_.add(problem, branch, residual); });
}

void RecordingBackend::rope(const ops::RopeProblem& problem, ops::WeightId table,
                            tensor::View qkv) {
  run("rope" + level("rope"), sizes({problem.batch, problem.length, problem.heads}),
      work_of(problem, precision()), [=, this] { inner_.rope(problem, table, qkv); });
}

void RecordingBackend::attention(const ops::AttentionProblem& problem, tensor::ConstView qkv,
                                 tensor::ConstView lengths, tensor::View out) {
  const bool full = problem.half_window == ops::kFullAttention;
  run("attention" + level("attention_output"),
      sizes({problem.batch, problem.length, problem.heads}) +
          (full ? ", full" : ", window " + std::to_string(problem.half_window)),
      work_of(problem, precision()), [=, this] { inner_.attention(problem, qkv, lengths, out); });
}

void RecordingBackend::attention(const ops::SubsetAttentionProblem& problem, tensor::ConstView q,
                                 tensor::ConstView kv, tensor::ConstView lengths,
                                 tensor::View out) {
  run("attention_subset" + level("attention_output"),
      sizes({problem.batch, problem.queries, problem.keys, problem.heads}),
      work_of(problem, precision()), [=, this] { inner_.attention(problem, q, kv, lengths, out); });
}

void RecordingBackend::transpose_heads(const ops::TransposeHeadsProblem& problem,
                                       tensor::ConstView by_head, tensor::View by_row) {
  run("transpose_heads", sizes({problem.batch, problem.rows, problem.heads}),
      work_of(problem, precision()),
      [=, this] { inner_.transpose_heads(problem, by_head, by_row); });
}

void RecordingBackend::matmul(ops::MatmulId id, tensor::ConstView x, tensor::View y) {
  const ops::MatmulProblem& problem = matmuls_.at(id.index);
  run("matmul", sizes({problem.rows, problem.columns, problem.depth}) + epilogue_text(problem),
      work_of(problem, precision()), [=, this] { inner_.matmul(id, x, y); });
}

void RecordingBackend::add_bias(const ops::BiasProblem& problem, ops::WeightId bias,
                                tensor::View y) {
  run("add_bias" + level("bias"), sizes({problem.rows, problem.columns}),
      work_of(problem, precision()), [=, this] { inner_.add_bias(problem, bias, y); });
}

void RecordingBackend::geglu(const ops::GegluProblem& problem, tensor::ConstView u,
                             tensor::View g) {
  run("geglu", sizes({problem.rows, problem.columns}), work_of(problem, precision()),
      [=, this] { inner_.geglu(problem, u, g); });
}

void RecordingBackend::type_embedding(const ops::TypeEmbeddingProblem& problem, ops::WeightId table,
                                      tensor::ConstView h, tensor::ConstView types,
                                      tensor::View x) {
  run("type_embedding", sizes({problem.batch, problem.length, problem.hidden}),
      work_of(problem, precision()),
      [=, this] { inner_.type_embedding(problem, table, h, types, x); });
}

void RecordingBackend::gather_rows(const ops::GatherProblem& problem, tensor::ConstView x,
                                   tensor::ConstView indices, tensor::View y) {
  run("gather_rows", sizes({problem.picked, problem.hidden}), {},
      [=, this] { inner_.gather_rows(problem, x, indices, y); });
}

void RecordingBackend::action_features(const ops::ActionFeaturesProblem& problem,
                                       tensor::ConstView raw_logits, tensor::ConstView counts,
                                       tensor::ConstView first, tensor::View logits,
                                       tensor::View features) {
  run("action_features", sizes({problem.batch, problem.options, problem.hidden}),
      work_of(problem, precision()),
      [=, this] { inner_.action_features(problem, raw_logits, counts, first, logits, features); });
}

}  // namespace abba::laya
