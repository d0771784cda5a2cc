// The requests phase: checks sizes and types and starts the kernels, one range a profiler can see
// each. Nothing here allocates, waits or throws.
#include "engine/base/error.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/kernels/action_features.h"
#include "engine/cuda/kernels/add.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/embed_norm.h"
#include "engine/cuda/kernels/gather_rows.h"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/layer_norm.h"
#include "engine/cuda/kernels/rope.h"
#include "engine/cuda/kernels/strided_bias.h"
#include "engine/cuda/kernels/transpose_heads.h"
#include "engine/cuda/kernels/type_embedding.h"
#include "engine/cuda/range.h"

namespace abba::cuda {
namespace {

using tensor::ConstView;
using tensor::View;

template <typename T>
const T* read(ConstView view, std::int64_t count) {
  ABBA_CHECK(view.is_contiguous() && view.element_count() == count);
  return view.as<T>();
}
template <typename T>
T* write(View view, std::int64_t count) {
  ABBA_CHECK(view.is_contiguous() && view.element_count() == count);
  return view.as<T>();
}

const void* read_act(ConstView view, std::int64_t count, tensor::DType act) {
  ABBA_CHECK(view.is_contiguous() && view.element_count() == count && view.dtype() == act);
  return view.data();
}
void* write_act(View view, std::int64_t count, tensor::DType act) {
  ABBA_CHECK(view.is_contiguous() && view.element_count() == count && view.dtype() == act);
  return view.data();
}

}  // namespace

void CudaBackend::embed_norm(const ops::EmbedNormProblem& problem, ops::WeightId table_id,
                             ops::WeightId gain, ConstView ids, View residual, View normed) {
  const Range range("embed_norm");
  const std::int64_t count = problem.rows * problem.hidden;
  const Weight& table = weight(table_id, WeightKind::kTable);
  ABBA_CHECK(table.shape == (tensor::Shape{problem.vocabulary, problem.hidden}));
  launch_embed_norm(problem, table.dtype, table.data, vector(gain, problem.hidden),
                    read<std::int32_t>(ids, problem.rows), write<float>(residual, count),
                    write_act(normed, count, act()), context());
}

void CudaBackend::layer_norm(const ops::NormProblem& problem, ops::WeightId gain,
                             ops::WeightId bias, ConstView x, View y) {
  const Range range("layer_norm");
  const std::int64_t count = problem.rows * problem.hidden;
  launch_layer_norm(problem, vector(gain, problem.hidden), vector(bias, problem.hidden),
                    read<float>(x, count), write_act(y, count, act()), context());
}

void CudaBackend::add_norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                           ConstView branch, View residual, View y) {
  const Range range("add_norm");
  const std::int64_t count = problem.rows * problem.hidden;
  launch_add_norm(problem, vector(gain, problem.hidden), vector(bias, problem.hidden),
                  read_act(branch, count, act()), write<float>(residual, count),
                  write_act(y, count, act()), context());
}

void CudaBackend::add(const ops::AddProblem& problem, ConstView branch, View residual) {
  const Range range("add");
  const std::int64_t count = problem.rows * problem.hidden;
  launch_add(problem, read_act(branch, count, act()), write<float>(residual, count), context());
}

void CudaBackend::rope(const ops::RopeProblem& problem, ops::WeightId table_id, View qkv) {
  const Range range("rope");
  const Weight& table = weight(table_id, WeightKind::kRope);
  ABBA_CHECK(problem.length <= table.shape[0]);
  const std::int64_t count = problem.batch * problem.length * 3 * problem.heads * ops::kHeadDim;
  launch_rope(problem, reinterpret_cast<const float*>(table.data), write_act(qkv, count, act()),
              context());
}

void CudaBackend::attention(const ops::AttentionProblem& problem, ConstView qkv, ConstView lengths,
                            View out) {
  const Range range("attention");
  const std::int64_t count = problem.batch * problem.length * problem.heads * ops::kHeadDim;
  launch_attention(problem, read_act(qkv, 3 * count, act()),
                   read<std::int32_t>(lengths, problem.batch), write_act(out, count, act()),
                   context(), tile_for(extent_of(problem)));
}

void CudaBackend::attention(const ops::SubsetAttentionProblem& problem, ConstView q, ConstView kv,
                            ConstView lengths, View out) {
  const Range range("subset attention");
  const std::int64_t hidden = problem.heads * ops::kHeadDim;
  const std::int64_t count = problem.batch * problem.queries * hidden;
  launch_attention(problem, read_act(q, count, act()),
                   read_act(kv, problem.batch * problem.keys * 2 * hidden, act()),
                   read<std::int32_t>(lengths, problem.batch), write_act(out, count, act()),
                   context(), tile_for(extent_of(problem)));
}

void CudaBackend::transpose_heads(const ops::TransposeHeadsProblem& problem, ConstView by_head,
                                  View by_row) {
  const Range range("transpose_heads");
  const std::int64_t count = problem.batch * problem.rows * problem.heads * ops::kHeadDim;
  launch_transpose_heads(problem, read_act(by_head, count, act()), write_act(by_row, count, act()),
                         context());
}

void CudaBackend::add_bias(const ops::BiasProblem& problem, ops::WeightId bias, View y) {
  const Range range("add_bias");
  const Weight& vector = weight(bias, WeightKind::kVector);
  ABBA_CHECK(vector.shape.element_count() == problem.columns && vector.rounded != nullptr);
  if (y.is_contiguous()) {
    return launch_bias(problem, vector.rounded, write_act(y, problem.rows * problem.columns, act()),
                       context());
  }
  ABBA_CHECK(y.rows() == problem.rows && y.columns() == problem.columns && y.dtype() == act());
  launch_strided_bias(problem, vector.rounded, y.data(), y.row_stride(), context());
}

void CudaBackend::geglu(const ops::GegluProblem& problem, ConstView u, View g) {
  const Range range("geglu");
  const std::int64_t count = problem.rows * problem.columns;
  launch_geglu(problem, read<float>(u, 2 * count), write_act(g, count, act()), context());
}

void CudaBackend::type_embedding(const ops::TypeEmbeddingProblem& problem, ops::WeightId table,
                                 ConstView h, ConstView types, View x) {
  const Range range("type_embedding");
  const std::int64_t count = problem.batch * problem.length * problem.hidden;
  launch_type_embedding(problem, weight(table, WeightKind::kTypeTable).data,
                        read_act(h, count, act()), read<std::int32_t>(types, problem.batch),
                        write<float>(x, count), context());
}

void CudaBackend::gather_rows(const ops::GatherProblem& problem, ConstView x, ConstView indices,
                              View y) {
  const Range range("gather_rows");
  ABBA_CHECK(x.dtype() == y.dtype() && x.is_contiguous() && y.is_contiguous());
  ABBA_CHECK(x.element_count() == problem.source_rows * problem.hidden);
  ABBA_CHECK(y.element_count() == problem.picked * problem.hidden);
  launch_gather_rows(problem, static_cast<std::int64_t>(tensor::size_bytes_of(x.dtype())), x.data(),
                     read<std::int32_t>(indices, problem.picked), y.data(), context());
}

void CudaBackend::action_features(const ops::ActionFeaturesProblem& problem, ConstView raw_logits,
                                  ConstView counts, ConstView first, View logits, View features) {
  const Range range("action_features");
  const std::int64_t slots = problem.batch * problem.options;
  const std::int64_t width = problem.hidden + ops::kActionFeatures;
  launch_action_features(
      problem, read_act(raw_logits, slots, act()), read<std::int32_t>(counts, problem.batch),
      read<float>(first, problem.batch * problem.hidden), write<float>(logits, slots),
      write_act(features, problem.batch * width, act()), context());
}

}  // namespace abba::cuda
