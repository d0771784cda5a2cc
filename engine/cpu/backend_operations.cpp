// The requests phase: checks sizes and types, cuts each operation into parts for the threads and
// calls the kernels. Nothing here allocates.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/threads.h"
#include "engine/tensor/convert.h"

namespace abba::cpu {
namespace {

using tensor::ConstView;
using tensor::View;

constexpr std::int64_t kRowGrain = 8;            // rows a part, where rows are cheap
constexpr std::int64_t kElementGrain = 1 << 13;  // elements a part

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

void store_act(float* to, float value) {
  *to = value;
}
void store_act(base::Bf16* to, float value) {
  *to = base::to_bf16(value);
}
float load_act(const float* from) {
  return *from;
}
float load_act(const base::Bf16* from) {
  return base::to_float(*from);
}

// top1, top1 - top2, entropy / ln k, k / 255 of softmax(logits), all in fp32; a NaN among the
// logits makes the first three NaN.
std::array<float, ops::kActionFeatures> distribution_features(const float* logits,
                                                              std::int32_t count) {
  const float top = *std::max_element(logits, logits + count);
  float total = 0.0F;
  for (std::int32_t i = 0; i < count; ++i) total += std::exp(logits[i] - top);
  float first = total - total;  // 0, or the NaN that max() would drop further down
  float second = first;
  float entropy = 0.0F;
  for (std::int32_t i = 0; i < count; ++i) {
    const float p = std::exp(logits[i] - top) / total;
    entropy -= p * std::log(std::max(p, 1e-9F));
    second = std::max(second, std::min(first, p));
    first = std::max(first, p);
  }
  const auto k = static_cast<float>(std::max(count, 2));
  return {first, first - second, entropy / std::log(k), k / 255.0F};
}

}  // namespace

void CpuBackend::embed_norm(const ops::EmbedNormProblem& problem, ops::WeightId table_id,
                            ops::WeightId gain, ConstView ids, View residual, View normed) {
  const std::int64_t count = problem.rows * problem.hidden;
  const ConstView table = weight(table_id, WeightKind::kTable).table;
  ABBA_CHECK(table.columns() == problem.hidden && table.rows() == problem.vocabulary);
  const auto* id = read<std::int32_t>(ids, problem.rows);
  auto* x = write<float>(residual, count);
  with_act([&](const auto& kernels, auto value) {
    NormArgs<decltype(value)> args{x, nullptr, vector(gain, problem.hidden)};
    args.y = write<decltype(value)>(normed, count);
    args.y_fp32 = x;
    args.hidden = problem.hidden;
    args.epsilon = problem.epsilon;
    parallel(settings_.threads, problem.rows, kRowGrain, [&](Range rows, int) {
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        tensor::convert(table.slice_rows(id[r], 1), x + r * problem.hidden);
      }
      kernels.norm(args, rows);
    });
  });
}

void CpuBackend::norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                      ConstView branch, float* x, View y) {
  const std::int64_t count = problem.rows * problem.hidden;
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    NormArgs<Act> args{x, nullptr, vector(gain, problem.hidden), vector(bias, problem.hidden)};
    if (!branch.is_null()) args.branch = read<Act>(branch, count);
    args.y = write<Act>(y, count);
    args.hidden = problem.hidden;
    args.epsilon = problem.epsilon;
    parallel(settings_.threads, problem.rows, kRowGrain,
             [&](Range rows, int) { kernels.norm(args, rows); });
  });
}

void CpuBackend::layer_norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                            ConstView x, View y) {
  // The kernel writes x only with a branch or y_fp32, and there is neither.
  auto* from = const_cast<float*>(read<float>(x, problem.rows * problem.hidden));
  norm(problem, gain, bias, {}, from, y);
}

void CpuBackend::add_norm(const ops::NormProblem& problem, ops::WeightId gain, ops::WeightId bias,
                          ConstView branch, View residual, View y) {
  norm(problem, gain, bias, branch, write<float>(residual, problem.rows * problem.hidden), y);
}

void CpuBackend::add(const ops::AddProblem& problem, ConstView branch, View residual) {
  const std::int64_t count = problem.rows * problem.hidden;
  with_act([&](const auto& kernels, auto value) {
    const auto* from = read<decltype(value)>(branch, count);
    auto* x = write<float>(residual, count);
    parallel(settings_.threads, count, kElementGrain,
             [&](Range part, int) { kernels.add(from, x, part); });
  });
}

void CpuBackend::rope(const ops::RopeProblem& problem, ops::WeightId table, View qkv) {
  const tensor::Buffer& values = weight(table, WeightKind::kRope).values;
  ABBA_CHECK(problem.length <= values.shape()[0]);
  const std::int64_t rows = problem.batch * problem.length;
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    const RopeArgs<Act> args{write<Act>(qkv, rows * 3 * problem.heads * ops::kHeadDim),
                             values.as<float>(), rows, problem.length, problem.heads};
    const std::int64_t blocks = rope_block_count(problem.variant, rows, problem.heads);
    const std::int64_t grain = std::max<std::int64_t>(1, blocks / (4L * settings_.threads));
    parallel(settings_.threads, blocks, grain,
             [&](Range part, int) { kernels.rope(problem.variant, args, part); });
  });
}

float* CpuBackend::attention_scratch(std::int64_t keys, int thread) {
  ABBA_CHECK(keys <= most_keys_);
  return attention_scratch_[static_cast<std::size_t>(thread)].as<float>();
}

void CpuBackend::attention(const ops::AttentionProblem& problem, ConstView qkv, ConstView lengths,
                           View out) {
  const std::int64_t hidden = problem.heads * ops::kHeadDim;
  const std::int64_t length = problem.length;
  const std::int64_t rows = problem.batch * length;
  const bool is_row_major = problem.layout == ops::AttentionOutput::kRowMajor;
  const auto* keys = read<std::int32_t>(lengths, problem.batch);
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    const Act* packed = read<Act>(qkv, rows * 3 * hidden);
    Act* to = write<Act>(out, rows * hidden);
    const auto one_head = [&](std::int64_t unit, int thread) {
      const std::int64_t b = unit / problem.heads;
      const std::int64_t h = unit % problem.heads;
      ABBA_CHECK(keys[b] >= 0 && keys[b] <= length);
      AttentionArgs<Act> args;
      args.q = packed + b * length * 3 * hidden + h * ops::kHeadDim;
      args.k = args.q + hidden;
      args.v = args.k + hidden;
      args.out = is_row_major ? to + b * length * hidden + h * ops::kHeadDim
                              : to + unit * length * ops::kHeadDim;
      args.q_stride = args.kv_stride = 3 * hidden;
      args.out_stride = is_row_major ? hidden : ops::kHeadDim;
      args.queries = length;
      args.zero_from = args.keys = keys[b];
      args.half_window = problem.half_window;
      args.scratch = attention_scratch(length, thread);
      kernels.attention(args);
    };
    parallel(settings_.threads, problem.batch * problem.heads, 1, [&](Range units, int thread) {
      for (std::int64_t unit = units.begin; unit < units.end; ++unit) one_head(unit, thread);
    });
  });
}

void CpuBackend::attention(const ops::SubsetAttentionProblem& problem, ConstView q, ConstView kv,
                           ConstView lengths, View out) {
  const std::int64_t hidden = problem.heads * ops::kHeadDim;
  const std::int64_t queries = problem.queries;
  const bool is_row_major = problem.layout == ops::AttentionOutput::kRowMajor;
  const auto* keys = read<std::int32_t>(lengths, problem.batch);
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    const Act* query = read<Act>(q, problem.batch * queries * hidden);
    const Act* packed = read<Act>(kv, problem.batch * problem.keys * 2 * hidden);
    Act* to = write<Act>(out, problem.batch * queries * hidden);
    const auto one_head = [&](std::int64_t unit, int thread) {
      const std::int64_t b = unit / problem.heads;
      const std::int64_t h = unit % problem.heads;
      ABBA_CHECK(keys[b] >= 0 && keys[b] <= problem.keys);
      AttentionArgs<Act> args;
      args.q = query + b * queries * hidden + h * ops::kHeadDim;
      args.k = packed + b * problem.keys * 2 * hidden + h * ops::kHeadDim;
      args.v = args.k + hidden;
      args.out = is_row_major ? to + b * queries * hidden + h * ops::kHeadDim
                              : to + unit * queries * ops::kHeadDim;
      args.q_stride = hidden;
      args.kv_stride = 2 * hidden;
      args.out_stride = is_row_major ? hidden : ops::kHeadDim;
      args.queries = args.zero_from = queries;
      args.keys = keys[b];
      args.half_window = ops::kFullAttention;
      args.scratch = attention_scratch(problem.keys, thread);
      kernels.attention(args);
    };
    parallel(settings_.threads, problem.batch * problem.heads, 1, [&](Range units, int thread) {
      for (std::int64_t unit = units.begin; unit < units.end; ++unit) one_head(unit, thread);
    });
  });
}

void CpuBackend::transpose_heads(const ops::TransposeHeadsProblem& problem, ConstView by_head,
                                 View by_row) {
  const std::int64_t count = problem.batch * problem.rows * problem.heads * ops::kHeadDim;
  with_act([&](const auto&, auto value) {
    using Act = decltype(value);
    const Act* from = read<Act>(by_head, count);
    Act* to = write<Act>(by_row, count);
    parallel(settings_.threads, problem.batch * problem.rows, 64, [&](Range rows, int) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const std::int64_t b = row / problem.rows;
        const std::int64_t r = row % problem.rows;
        for (std::int64_t h = 0; h < problem.heads; ++h) {
          const Act* head = from + ((b * problem.heads + h) * problem.rows + r) * ops::kHeadDim;
          std::memcpy(to + (row * problem.heads + h) * ops::kHeadDim, head,
                      sizeof(Act) * ops::kHeadDim);
        }
      }
    });
  });
}

void CpuBackend::matmul(ops::MatmulId id, ConstView x, View y) {
  const ops::MatmulProblem& problem = product_->problem_of(id.index);
  with_act([&](const auto&, auto value) {
    using Act = decltype(value);
    product_->run(id.index, read<Act>(x, problem.rows * problem.depth),
                  write<Act>(y, problem.rows * problem.columns));
  });
}

void CpuBackend::add_bias(const ops::BiasProblem& problem, ops::WeightId bias, View y) {
  ABBA_CHECK(problem.variant != ops::BiasVariant::kEpilogue && bias.is_valid());
  if (!y.is_contiguous()) {  // row after row: the model's own y is contiguous always
    ABBA_CHECK(y.rows() == problem.rows && y.columns() == problem.columns);
    ops::BiasProblem one_row = problem;
    one_row.rows = 1;
    for (std::int64_t r = 0; r < problem.rows; ++r) add_bias(one_row, bias, y.slice_rows(r, 1));
    return;
  }
  const std::int64_t count = problem.rows * problem.columns;
  const bool is_flat = problem.variant == ops::BiasVariant::kStridedDiv64;
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    const BiasArgs<Act> args{write<Act>(y, count), vector(bias, problem.columns), problem.rows,
                             problem.columns, problem.relu};
    parallel(settings_.threads, is_flat ? count : problem.rows, is_flat ? kElementGrain : kRowGrain,
             [&](Range part, int) { kernels.add_bias(problem.variant, args, part); });
  });
}

void CpuBackend::geglu(const ops::GegluProblem& problem, ConstView u, View g) {
  const std::int64_t columns = problem.columns;
  const auto* from = read<float>(u, problem.rows * 2 * columns);
  with_act([&](const auto& kernels, auto value) {
    auto* to = write<decltype(value)>(g, problem.rows * columns);
    parallel(settings_.threads, problem.rows, kRowGrain, [&](Range rows, int) {
      const float* activated = from + rows.begin * 2 * columns;
      kernels.geglu({activated, activated + columns, 2 * columns, to + rows.begin * columns,
                     columns, rows.end - rows.begin, columns});
    });
  });
}

void CpuBackend::type_embedding(const ops::TypeEmbeddingProblem& problem, ops::WeightId table,
                                ConstView h, ConstView types, View x) {
  const tensor::Buffer& rows = weight(table, WeightKind::kTypeTable).values;
  ABBA_CHECK(rows.shape().column_count() == problem.hidden);
  const std::int64_t per_batch = problem.length * problem.hidden;
  const auto* type = read<std::int32_t>(types, problem.batch);
  auto* to = write<float>(x, problem.batch * per_batch);
  with_act([&](const auto& kernels, auto value) {
    using Act = decltype(value);
    const Act* from = read<Act>(h, problem.batch * per_batch);
    parallel(settings_.threads, problem.batch, 1, [&](Range batch, int) {
      for (std::int64_t b = batch.begin; b < batch.end; ++b) {
        kernels.add_type(from + b * per_batch, rows.view().row<Act>(type[b]), to + b * per_batch,
                         problem.length, problem.hidden);
      }
    });
  });
}

void CpuBackend::gather_rows(const ops::GatherProblem& problem, ConstView x, ConstView indices,
                             View y) {
  ABBA_CHECK(x.dtype() == y.dtype() && x.is_contiguous() && y.is_contiguous());
  ABBA_CHECK(x.element_count() == problem.source_rows * problem.hidden);
  ABBA_CHECK(y.element_count() == problem.picked * problem.hidden);
  const auto* index = read<std::int32_t>(indices, problem.picked);
  const std::size_t row_bytes =
      static_cast<std::size_t>(problem.hidden) * tensor::size_bytes_of(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  for (std::int64_t i = 0; i < problem.picked; ++i) {
    ABBA_CHECK(index[i] >= 0 && index[i] < problem.source_rows);
    std::memcpy(to + static_cast<std::size_t>(i) * row_bytes,
                from + static_cast<std::size_t>(index[i]) * row_bytes, row_bytes);
  }
}

void CpuBackend::action_features(const ops::ActionFeaturesProblem& problem, ConstView raw_logits,
                                 ConstView counts, ConstView first, View logits, View features) {
  const std::int64_t slots = problem.options;
  const std::int64_t width = problem.hidden + ops::kActionFeatures;
  const auto* count = read<std::int32_t>(counts, problem.batch);
  const auto* start = read<float>(first, problem.batch * problem.hidden);
  auto* z = write<float>(logits, problem.batch * slots);
  with_act([&](const auto&, auto value) {
    using Act = decltype(value);
    const Act* raw = read<Act>(raw_logits, problem.batch * slots);
    Act* out = write<Act>(features, problem.batch * width);
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      ABBA_CHECK(count[b] >= 1 && count[b] <= slots);
      for (std::int64_t k = 0; k < slots; ++k) {
        z[b * slots + k] = k < count[b] ? load_act(raw + b * slots + k) : ops::kMaskedLogit;
      }
      const auto summary = distribution_features(z + b * slots, count[b]);
      Act* row = out + b * width;
      for (std::int64_t d = 0; d < problem.hidden; ++d) {
        store_act(row + d, start[b * problem.hidden + d]);
      }
      for (std::size_t i = 0; i < summary.size(); ++i) {
        store_act(row + problem.hidden + static_cast<std::int64_t>(i), summary[i]);
      }
    }
  });
}

}  // namespace abba::cpu
