#include "engine/cpu/exactness.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/half.h"
#include "engine/base/prng.h"
#include "engine/tensor/buffer.h"

namespace abba::cpu {
namespace {

using ops::Precision;
using tensor::Buffer;
using tensor::DType;
using tensor::Shape;

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kLength = 37;
constexpr std::int64_t kRows = kBatch * kLength;

DType act_of(const ops::Backend& backend) {
  return backend.precision() == Precision::kBf16 ? DType::kBf16 : DType::kF32;
}

Buffer random_floats(base::Random& random, const Shape& shape, float range) {
  Buffer values(DType::kF32, shape);
  float* v = values.as<float>();
  for (std::int64_t i = 0; i < shape.element_count(); ++i) {
    v[i] = random.uniform_float(-range, range);
  }
  return values;
}

Buffer random_act(base::Random& random, const ops::Backend& backend, const Shape& shape) {
  Buffer values = random_floats(random, shape, 2.0F);
  if (act_of(backend) == DType::kF32) return values;
  Buffer rounded(DType::kBf16, shape);
  base::convert(values.as<float>(), rounded.as<base::Bf16>(),
                static_cast<std::size_t>(shape.element_count()));
  return rounded;
}

Buffer copy_of(const Buffer& from) {
  Buffer to(from.dtype(), from.shape());
  std::memcpy(to.view().data(), from.view().data(), from.view().size_bytes());
  return to;
}

Buffer poisoned(DType dtype, const Shape& shape) {
  Buffer buffer(dtype, shape);
  buffer.poison();
  return buffer;
}

std::int64_t count_differences(const Buffer& a, const Buffer& b) {
  const std::size_t size = tensor::size_bytes_of(a.dtype());
  const auto* left = static_cast<const std::byte*>(a.view().data());
  const auto* right = static_cast<const std::byte*>(b.view().data());
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.view().element_count()); ++i) {
    differing += std::memcmp(left + i * size, right + i * size, size) != 0 ? 1 : 0;
  }
  return differing;
}

std::byte* bytes(Buffer& buffer) {
  return static_cast<std::byte*>(buffer.view().data());
}

Buffer lengths_of(std::int32_t first, std::int32_t second) {
  Buffer lengths(DType::kI32, Shape{kBatch});
  lengths.as<std::int32_t>()[0] = first;
  lengths.as<std::int32_t>()[1] = second;
  return lengths;
}

std::int64_t differences_of_rope(ops::Backend& backend, std::int64_t heads,
                                 ops::RopeVariant variant) {
  base::Random random(11);
  const ops::WeightId table = backend.prepare_rope(10000.0F, kLength);
  Buffer one = random_act(random, backend, Shape{kRows, 3 * heads * ops::kHeadDim});
  Buffer other = copy_of(one);
  backend.rope({kBatch, kLength, heads, variant}, table, one.view());
  backend.rope({kBatch, kLength, heads, ops::RopeVariant::kRowBlock32Div64}, table, other.view());
  return count_differences(one, other);
}

// head_major and its transpose against row_major, over the rows that are read.
std::int64_t differences_of_attention(ops::Backend& backend, std::int64_t heads) {
  base::Random random(12);
  const std::int64_t hidden = heads * ops::kHeadDim;
  const DType act = act_of(backend);
  const Buffer qkv = random_act(random, backend, Shape{kRows, 3 * hidden});
  const Buffer lengths = lengths_of(kLength, 23);
  Buffer by_head = poisoned(act, Shape{kRows, hidden});
  Buffer by_row = poisoned(act, Shape{kRows, hidden});
  Buffer direct = poisoned(act, Shape{kRows, hidden});
  ops::AttentionProblem problem{kBatch, kLength, heads, 8, ops::AttentionOutput::kHeadMajor};
  backend.plan_attention(problem);
  backend.attention(problem, qkv.view(), lengths.view(), by_head.view());
  backend.transpose_heads({kBatch, kLength, heads}, by_head.view(), by_row.view());
  problem.layout = ops::AttentionOutput::kRowMajor;
  backend.attention(problem, qkv.view(), lengths.view(), direct.view());
  return count_differences(by_row, direct);
}

std::int64_t differences_of_separate_bias(ops::Backend& backend, std::int64_t columns) {
  base::Random random(13);
  const Buffer bias = random_floats(random, Shape{columns}, 1.0F);
  const ops::WeightId id = backend.prepare_vector("bias", bias.view(), ops::VectorRole::kBias);
  Buffer one = random_act(random, backend, Shape{kLength, columns});
  Buffer other = copy_of(one);
  backend.add_bias({kLength, columns, true, ops::BiasVariant::kRows2d}, id, one.view());
  backend.add_bias({kLength, columns, true, ops::BiasVariant::kStridedDiv64}, id, other.view());
  return count_differences(one, other);
}

// The epilogue against an fp32 add: integers keep the product exact in any order of additions, so
// only the rounding of product + bias is at stake.
std::int64_t differences_of_epilogue(ops::Backend& backend, std::int64_t depth) {
  constexpr std::int64_t kColumns = 96;
  base::Random random(14);
  const auto integer = [&] { return static_cast<float>(random.below(15)) - 7.0F; };
  Buffer weight(DType::kF32, Shape{kColumns, depth});
  std::generate_n(weight.as<float>(), kColumns * depth, integer);
  Buffer x(DType::kF32, Shape{kLength, depth});
  std::generate_n(x.as<float>(), kLength * depth, integer);
  const Buffer bias = random_floats(random, Shape{kColumns}, 1.0F);
  const ops::WeightId matrix = backend.prepare_matrix("weight", weight.view());
  const ops::WeightId vector = backend.prepare_vector("bias", bias.view(), ops::VectorRole::kBias);
  const ops::MatmulId product =
      backend.plan_matmul({kLength, kColumns, depth, ops::Epilogue::kNone, true}, matrix, vector);
  const bool is_bf16 = backend.precision() == Precision::kBf16;
  Buffer narrow(act_of(backend), Shape{kLength, depth});
  if (is_bf16) {
    base::convert(x.as<float>(), narrow.as<base::Bf16>(),
                  static_cast<std::size_t>(kLength * depth));
  }
  Buffer y = poisoned(act_of(backend), Shape{kLength, kColumns});
  backend.matmul(product, is_bf16 ? narrow.view() : x.view(), y.view());
  std::vector<float> computed(static_cast<std::size_t>(kLength * kColumns));
  backend.download(y.view(), computed.data());
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < kLength * kColumns; ++i) {
    const float* row = x.as<float>() + i / kColumns * depth;
    const float* column = weight.as<float>() + i % kColumns * depth;
    float exact = 0.0F;
    for (std::int64_t k = 0; k < depth; ++k) exact += row[k] * column[k];
    const float b = bias.as<float>()[i % kColumns];
    const float sum = exact + (is_bf16 ? base::round_to_bf16(b) : b);
    const float expected = is_bf16 ? base::round_to_bf16(sum) : sum;
    differing += computed[static_cast<std::size_t>(i)] == expected ? 0 : 1;
  }
  return differing;
}

// Attention of three picked queries against the same rows of all.
std::int64_t differences_of_subset(ops::Backend& backend, std::int64_t heads) {
  constexpr std::int64_t kPicked = 3;
  base::Random random(15);
  const std::int64_t hidden = heads * ops::kHeadDim;
  const DType act = act_of(backend);
  const std::size_t row_bytes = static_cast<std::size_t>(hidden) * tensor::size_bytes_of(act);
  Buffer qkv = random_act(random, backend, Shape{kRows, 3 * hidden});
  const Buffer lengths = lengths_of(kLength, 23);
  Buffer q(act, Shape{kBatch * kPicked, hidden});
  Buffer kv(act, Shape{kRows, 2 * hidden});
  Buffer all = poisoned(act, Shape{kRows, hidden});
  Buffer some = poisoned(act, Shape{kBatch * kPicked, hidden});
  Buffer expected(act, Shape{kBatch * kPicked, hidden});
  const auto picked_row = [](std::int64_t i) { return i / kPicked * kLength + i % kPicked * 7; };
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::memcpy(bytes(kv) + static_cast<std::size_t>(row) * 2 * row_bytes,
                bytes(qkv) + static_cast<std::size_t>(row * 3 + 1) * row_bytes, 2 * row_bytes);
  }
  const ops::AttentionProblem full{kBatch, kLength, heads};
  const ops::SubsetAttentionProblem subset{kBatch, kPicked, kLength, heads};
  backend.plan_attention(full);
  backend.plan_attention(subset);
  backend.attention(full, qkv.view(), lengths.view(), all.view());
  for (std::int64_t i = 0; i < kBatch * kPicked; ++i) {
    const auto row = static_cast<std::size_t>(picked_row(i));
    const std::size_t to = static_cast<std::size_t>(i) * row_bytes;
    std::memcpy(bytes(q) + to, bytes(qkv) + row * 3 * row_bytes, row_bytes);
    std::memcpy(bytes(expected) + to, bytes(all) + row * row_bytes, row_bytes);
  }
  backend.attention(subset, q.view(), kv.view(), lengths.view(), some.view());
  return count_differences(some, expected);
}

// What marker_rows rests on: attention of a few queries, and the products that see a few rows. The
// widened product works in panels, so the columns beyond one do not matter; the library's bf16
// product picks its blocks by the whole shape, so there the network's own shapes are tried.
std::int64_t differences_of_few_rows(ops::Backend& backend, const Settings& settings,
                                     std::int64_t hidden, std::int64_t heads) {
  constexpr std::int64_t kManyRows = 512;
  constexpr std::int64_t kPanelAndAHalf = 192;
  const bool is_panelled =
      backend.precision() == Precision::kFp32 || resolve(settings.product) == ProductPath::kWidened;
  std::int64_t differing = differences_of_subset(backend, heads);
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {{kPanelAndAHalf, hidden},
                                                               {kPanelAndAHalf, 4 * hidden}};
  if (!is_panelled) shapes = {{hidden, hidden}, {4 * hidden, hidden}, {hidden, 4 * hidden}};
  for (const auto& [columns, depth] : shapes) {
    differing += count_row_differences(backend, columns, depth, kManyRows);
  }
  return differing;
}

ProvedLevel judged(const ops::VariantTable& table, const ops::Choices& choices, std::string_view to,
                   std::int64_t differing, std::string what) {
  return {table.factor, ops::level_of(choices, table.factor), to,
          differing == 0 ? ops::ExactnessKind::kBitwise : ops::ExactnessKind::kTolerance,
          std::move(what) + ": " + std::to_string(differing) + " values differ"};
}

}  // namespace

std::int64_t count_row_differences(ops::Backend& backend, std::int64_t columns, std::int64_t depth,
                                   std::int64_t rows) {
  base::Random random(16);
  const Buffer weight = random_floats(random, Shape{columns, depth}, 0.1F);
  const ops::WeightId matrix = backend.prepare_matrix("weight", weight.view());
  const Buffer x = random_act(random, backend, Shape{rows, depth});
  const auto multiply = [&](std::int64_t first, std::int64_t count) {
    Buffer y = poisoned(act_of(backend), Shape{count, columns});
    const ops::MatmulId id = backend.plan_matmul({count, columns, depth}, matrix, {});
    backend.matmul(id, x.view().slice_rows(first, count), y.view());
    return y;
  };
  const Buffer all = multiply(0, rows);
  const std::size_t row_bytes =
      static_cast<std::size_t>(columns) * tensor::size_bytes_of(all.dtype());
  std::int64_t differing = 0;
  for (const std::int64_t count : {1, 2, 3, 5, 7, 20, 40}) {
    const std::int64_t first = (rows - count) / 2;
    const Buffer some = multiply(first, count);
    Buffer same(all.dtype(), some.shape());
    std::memcpy(same.view().data(),
                static_cast<const std::byte*>(all.view().data()) +
                    static_cast<std::size_t>(first) * row_bytes,
                same.view().size_bytes());
    differing += count_differences(some, same);
  }
  return differing;
}

std::vector<ProvedLevel> prove_exactness(const Settings& settings, std::int64_t hidden) {
  const auto backend = make_backend(settings);
  const ops::Choices& choices = settings.choices;
  const std::int64_t heads = std::min<std::int64_t>(hidden / ops::kHeadDim, 4);
  std::vector<ProvedLevel> proved;
  for (const ops::VariantTable& table : ops::variant_tables()) {
    if (table.factor == "rope") {
      proved.push_back(judged(table, choices, "row_block_32_div64",
                              differences_of_rope(*backend, heads, choices.rope),
                              "q, k and v of a rotation"));
    } else if (table.factor == "head_last_layer") {
      const std::int64_t differing = differences_of_few_rows(*backend, settings, hidden, heads);
      proved.push_back(judged(table, choices, "all_tokens", differing,
                              "rows of products and attention computed alone and among others"));
    } else if (table.factor == "attention_output") {
      proved.push_back(judged(table, choices, "head_major",
                              differences_of_attention(*backend, heads), "attended rows"));
    } else if (choices.bias == ops::BiasVariant::kEpilogue) {
      proved.push_back(judged(table, choices, "fp32 add before the one rounding",
                              differences_of_epilogue(*backend, hidden), "biased products"));
    } else {
      proved.push_back(judged(table, choices, "strided_div64",
                              differences_of_separate_bias(*backend, 4 * hidden), "biased values"));
    }
  }
  return proved;
}

}  // namespace abba::cpu
