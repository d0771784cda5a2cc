#include "engine/ops/exactness.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/base/half.h"
#include "engine/base/prng.h"
#include "engine/tensor/buffer.h"

namespace abba::ops {
namespace {

using tensor::Buffer;
using tensor::DType;
using tensor::Shape;

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kLength = 37;
constexpr std::int64_t kRows = kBatch * kLength;
// Rows of a product that sees few: one batch row's picked ones, and those of batches of 4 and 8.
constexpr std::int64_t kFewRows[] = {1, 2, 3, 5, 7, 20, 40};

DType act_of(const Backend& backend) {
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

Buffer as_act(const Backend& backend, Buffer values) {
  if (act_of(backend) == DType::kF32) return values;
  Buffer rounded(DType::kBf16, values.shape());
  base::convert(values.as<float>(), rounded.as<base::Bf16>(),
                static_cast<std::size_t>(values.shape().element_count()));
  return rounded;
}

Buffer random_act(base::Random& random, const Backend& backend, const Shape& shape) {
  return as_act(backend, random_floats(random, shape, 2.0F));
}

// A tensor in the backend's memory.
class Placed {
 public:
  Placed(Backend& backend, const Buffer& host)
      : Placed(backend, host.dtype(), host.shape(), host) {}
  // Poisoned: what an operation leaves out shows.
  Placed(Backend& backend, DType dtype, const Shape& shape)
      : Placed(backend, dtype, shape, poisoned(dtype, shape)) {}

  [[nodiscard]] tensor::View view() const { return view_; }
  // Widened to fp32, which keeps every bit of a bf16 apart.
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> read(static_cast<std::size_t>(view_.element_count()));
    backend_->download(view_, read.data());
    return read;
  }

 private:
  Placed(Backend& backend, DType dtype, const Shape& shape, const Buffer& host)
      : backend_(&backend),
        arena_(backend.make_arena(host.view().size_bytes())),
        view_(arena_->data(), dtype, shape) {
    backend.upload(host.view().data(), view_);
  }
  static Buffer poisoned(DType dtype, const Shape& shape) {
    Buffer buffer(dtype, shape);
    buffer.poison();
    return buffer;
  }

  Backend* backend_;
  std::unique_ptr<Arena> arena_;
  tensor::View view_;
};

std::int64_t count_differences(const std::vector<float>& a, const std::vector<float>& b) {
  ABBA_CHECK(a.size() == b.size());
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differing += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 ? 1 : 0;
  }
  return differing;
}

Buffer lengths_of(std::int32_t first, std::int32_t second) {
  Buffer lengths(DType::kI32, Shape{kBatch});
  lengths.as<std::int32_t>()[0] = first;
  lengths.as<std::int32_t>()[1] = second;
  return lengths;
}

std::int64_t differences_of_rope(Backend& backend, std::int64_t heads, RopeVariant variant) {
  base::Random random(11);
  const WeightId table = backend.prepare_rope(10000.0F, kLength);
  const Buffer qkv = random_act(random, backend, Shape{kRows, 3 * heads * kHeadDim});
  const Placed one(backend, qkv);
  const Placed other(backend, qkv);
  backend.rope({kBatch, kLength, heads, variant}, table, one.view());
  backend.rope({kBatch, kLength, heads, RopeVariant::kRowBlock32Div64}, table, other.view());
  return count_differences(one.values(), other.values());
}

// head_major and its transpose against row_major, over the rows that are read.
std::int64_t differences_of_attention(Backend& backend, std::int64_t heads) {
  base::Random random(12);
  const std::int64_t hidden = heads * kHeadDim;
  const DType act = act_of(backend);
  const Placed qkv(backend, random_act(random, backend, Shape{kRows, 3 * hidden}));
  const Placed lengths(backend, lengths_of(kLength, 23));
  const Placed by_head(backend, act, Shape{kRows, hidden});
  const Placed by_row(backend, act, Shape{kRows, hidden});
  const Placed direct(backend, act, Shape{kRows, hidden});
  AttentionProblem problem{kBatch, kLength, heads, 8, AttentionOutput::kHeadMajor};
  backend.plan_attention(problem);
  backend.attention(problem, qkv.view(), lengths.view(), by_head.view());
  backend.transpose_heads({kBatch, kLength, heads}, by_head.view(), by_row.view());
  problem.layout = AttentionOutput::kRowMajor;
  backend.attention(problem, qkv.view(), lengths.view(), direct.view());
  return count_differences(by_row.values(), direct.values());
}

std::int64_t differences_of_separate_bias(Backend& backend, std::int64_t columns) {
  base::Random random(13);
  const Buffer bias = random_floats(random, Shape{columns}, 1.0F);
  const WeightId id = backend.prepare_vector("bias", bias.view(), VectorRole::kBias);
  const Buffer y = random_act(random, backend, Shape{kLength, columns});
  const Placed one(backend, y);
  const Placed other(backend, y);
  backend.add_bias({kLength, columns, true, BiasVariant::kRows2d}, id, one.view());
  backend.add_bias({kLength, columns, true, BiasVariant::kStridedDiv64}, id, other.view());
  return count_differences(one.values(), other.values());
}

// The epilogue against an fp32 add: integers keep the product exact in any order of additions, so
// only the rounding of product + bias is at stake.
std::int64_t differences_of_epilogue(Backend& backend, std::int64_t depth) {
  constexpr std::int64_t kColumns = 96;
  base::Random random(14);
  const auto integer = [&] { return static_cast<float>(random.below(15)) - 7.0F; };
  Buffer weight(DType::kF32, Shape{kColumns, depth});
  std::generate_n(weight.as<float>(), kColumns * depth, integer);
  Buffer x(DType::kF32, Shape{kLength, depth});
  std::generate_n(x.as<float>(), kLength * depth, integer);
  const Buffer bias = random_floats(random, Shape{kColumns}, 1.0F);
  const WeightId matrix = backend.prepare_matrix("weight", weight.view());
  const WeightId vector = backend.prepare_vector("bias", bias.view(), VectorRole::kBias);
  const MatmulId product =
      backend.plan_matmul({kLength, kColumns, depth, Epilogue::kNone, true}, matrix, vector);
  Buffer copy(DType::kF32, x.shape());
  std::copy_n(x.as<float>(), kLength * depth, copy.as<float>());
  const Placed from(backend, as_act(backend, std::move(copy)));
  const Placed y(backend, act_of(backend), Shape{kLength, kColumns});
  backend.matmul(product, from.view(), y.view());
  const std::vector<float> computed = y.values();
  const bool is_bf16 = backend.precision() == Precision::kBf16;
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

// Rows `rows` of [count, width] host values.
Buffer picked_rows(const Buffer& from, const std::vector<std::int64_t>& rows, std::int64_t first,
                   std::int64_t columns) {
  Buffer to(from.dtype(), Shape{static_cast<std::int64_t>(rows.size()), columns});
  const std::size_t element = tensor::size_bytes_of(from.dtype());
  const auto* source = static_cast<const std::byte*>(from.view().data());
  auto* target = static_cast<std::byte*>(to.view().data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t offset = rows[i] * from.shape().column_count() + first;
    std::memcpy(target + i * static_cast<std::size_t>(columns) * element,
                source + static_cast<std::size_t>(offset) * element,
                static_cast<std::size_t>(columns) * element);
  }
  return to;
}

// Attention of three picked queries against the same rows of all.
std::int64_t differences_of_subset(Backend& backend, std::int64_t heads) {
  constexpr std::int64_t kPicked = 3;
  base::Random random(15);
  const std::int64_t hidden = heads * kHeadDim;
  const DType act = act_of(backend);
  const Buffer packed = random_act(random, backend, Shape{kRows, 3 * hidden});
  std::vector<std::int64_t> every(kRows);
  for (std::int64_t row = 0; row < kRows; ++row) every[static_cast<std::size_t>(row)] = row;
  std::vector<std::int64_t> picked;
  for (std::int64_t i = 0; i < kBatch * kPicked; ++i) {
    picked.push_back(i / kPicked * kLength + i % kPicked * 7);
  }
  const Placed qkv(backend, packed);
  const Placed q(backend, picked_rows(packed, picked, 0, hidden));
  const Placed kv(backend, picked_rows(packed, every, hidden, 2 * hidden));
  const Placed lengths(backend, lengths_of(kLength, 23));
  const Placed all(backend, act, Shape{kRows, hidden});
  const Placed some(backend, act, Shape{kBatch * kPicked, hidden});
  const AttentionProblem full{kBatch, kLength, heads};
  const SubsetAttentionProblem subset{kBatch, kPicked, kLength, heads};
  backend.plan_attention(full);
  backend.plan_attention(subset);
  backend.attention(full, qkv.view(), lengths.view(), all.view());
  backend.attention(subset, q.view(), kv.view(), lengths.view(), some.view());
  const std::vector<float> rows = all.values();
  std::vector<float> expected;
  for (const std::int64_t row : picked) {
    expected.insert(expected.end(), rows.begin() + row * hidden, rows.begin() + (row + 1) * hidden);
  }
  return count_differences(some.values(), expected);
}

// A group of transfers with a gap between them against each by itself.
std::int64_t differences_of_upload(Backend& backend) {
  constexpr std::int64_t kCount = 1000;
  constexpr std::int64_t kSecond = 1024;  // where the second begins
  base::Random random(17);
  const Buffer values = random_floats(random, Shape{kCount}, 2.0F);
  const Placed one(backend, DType::kF32, Shape{kSecond + kCount});
  const Placed other(backend, DType::kF32, Shape{kSecond + kCount});
  const auto parts_of = [&](const Placed& placed) {
    const tensor::View flat = placed.view();
    return std::pair(flat.slice_columns(0, kCount), flat.slice_columns(kSecond, kCount));
  };
  const auto [first, second] = parts_of(one);
  backend.plan_upload(one.view().size_bytes());
  const Transfer group[] = {{values.view().data(), first}, {values.view().data(), second}};
  backend.upload_all(group);
  const auto [alone, after] = parts_of(other);
  backend.upload(values.view().data(), alone);
  backend.upload(values.view().data(), after);
  std::vector<float> together = one.values();
  std::vector<float> apart = other.values();
  for (std::vector<float>* read : {&together, &apart}) {  // the gap is nobody's
    read->erase(read->begin() + kCount, read->begin() + kSecond);
  }
  return count_differences(together, apart);
}

// What marker_rows rests on: attention of a few queries, the products that see a few rows, and q
// apart from k and v.
std::int64_t differences_of_few_rows(Backend& backend, const ProofSizes& sizes,
                                     std::int64_t heads) {
  constexpr std::int64_t kManyRows = 512;
  std::int64_t differing = differences_of_subset(backend, heads);
  for (const auto& [columns, depth] : sizes.products) {
    differing += count_row_differences(backend, columns, depth, kManyRows);
  }
  return differing + count_split_differences(backend, sizes.hidden, sizes.split_rows);
}

// x times the transpose of a weight of `columns` rows.
std::vector<float> multiply(Backend& backend, WeightId weight, std::int64_t columns,
                            tensor::View x) {
  const Placed y(backend, act_of(backend), Shape{x.rows(), columns});
  backend.matmul(backend.plan_matmul({x.rows(), columns, x.columns()}, weight, {}), x, y.view());
  return y.values();
}

// Columns [first, first + count) of each row of `width` values.
std::vector<float> columns_of(const std::vector<float>& values, std::int64_t width,
                              std::int64_t first, std::int64_t count) {
  std::vector<float> columns;
  for (auto row = values.begin(); row != values.end(); row += width) {
    columns.insert(columns.end(), row + first, row + first + count);
  }
  return columns;
}

ProvedLevel judged(const VariantTable& table, const Choices& choices, std::string_view to,
                   std::int64_t differing, std::string what) {
  return {table.factor, level_of(choices, table.factor), to,
          differing == 0 ? ExactnessKind::kBitwise : ExactnessKind::kTolerance,
          std::move(what) + ": " + std::to_string(differing) + " values differ"};
}

ProvedLevel judged_bias(Backend& backend, const VariantTable& table, std::int64_t hidden) {
  const Choices& choices = backend.choices();
  if (choices.bias == BiasVariant::kEpilogue) {
    return judged(table, choices, "fp32 add before the one rounding",
                  differences_of_epilogue(backend, hidden), "biased products");
  }
  return judged(table, choices, "strided_div64", differences_of_separate_bias(backend, 4 * hidden),
                "biased values");
}

// all_tokens is what marker_rows is held against: nothing of it depends on the number of rows.
ProvedLevel judged_last_layer(Backend& backend, const VariantTable& table, const ProofSizes& sizes,
                              std::int64_t heads) {
  const Choices& choices = backend.choices();
  if (choices.head_last_layer == HeadLastLayer::kAllTokens) {
    return judged(table, choices, "all_tokens", 0, "itself, the level others are compared with");
  }
  return judged(table, choices, "all_tokens", differences_of_few_rows(backend, sizes, heads),
                "rows of products and attention computed alone and among others, q and "
                "k, v from two products and from one");
}

}  // namespace

std::int64_t count_row_differences(Backend& backend, std::int64_t columns, std::int64_t depth,
                                   std::int64_t rows) {
  base::Random random(16);
  const Buffer weight = random_floats(random, Shape{columns, depth}, 0.1F);
  const WeightId matrix = backend.prepare_matrix("weight", weight.view());
  const Placed x(backend, random_act(random, backend, Shape{rows, depth}));
  const std::vector<float> all = multiply(backend, matrix, columns, x.view());
  std::int64_t differing = 0;
  for (const std::int64_t count : kFewRows) {
    const std::int64_t first = (rows - count) / 2;
    const auto begin = all.begin() + first * columns;
    differing +=
        count_differences(multiply(backend, matrix, columns, x.view().slice_rows(first, count)),
                          {begin, begin + count * columns});
  }
  return differing;
}

std::int64_t count_split_differences(Backend& backend, std::int64_t hidden, std::int64_t rows) {
  base::Random random(17);
  const std::int64_t width = 3 * hidden;
  const Buffer weight = random_floats(random, Shape{width, hidden}, 0.1F);
  const auto weight_rows = [&](std::int64_t first, std::int64_t count) {
    return backend.prepare_matrix("weight", weight.view().slice_rows(first, count));
  };
  const Placed x(backend, random_act(random, backend, Shape{rows, hidden}));
  const auto qkv = multiply(backend, weight_rows(0, width), width, x.view());
  const auto kv = multiply(backend, weight_rows(hidden, 2 * hidden), 2 * hidden, x.view());
  std::int64_t differing = count_differences(kv, columns_of(qkv, width, hidden, 2 * hidden));
  const auto all_q = columns_of(qkv, width, 0, hidden);
  const WeightId for_q = weight_rows(0, hidden);
  for (const std::int64_t count : kFewRows) {
    const std::int64_t first = (rows - count) / 2;
    const auto q = multiply(backend, for_q, hidden, x.view().slice_rows(first, count));
    const auto begin = all_q.begin() + first * hidden;
    differing += count_differences(q, {begin, begin + count * hidden});
  }
  return differing;
}

std::vector<ProvedLevel> prove_exactness(Backend& backend, const ProofSizes& sizes) {
  const Choices& choices = backend.choices();
  const std::int64_t heads = std::min<std::int64_t>(sizes.hidden / kHeadDim, 4);
  std::vector<ProvedLevel> proved;
  for (const VariantTable& table : variant_tables(backend.name())) {
    if (table.factor == "rope") {
      proved.push_back(judged(table, choices, "row_block_32_div64",
                              differences_of_rope(backend, heads, choices.rope),
                              "q, k and v of a rotation"));
    } else if (table.factor == "head_last_layer") {
      proved.push_back(judged_last_layer(backend, table, sizes, heads));
    } else if (table.factor == "attention_output") {
      proved.push_back(judged(table, choices, "head_major",
                              differences_of_attention(backend, heads), "attended rows"));
    } else if (table.factor == "bias") {
      proved.push_back(judged_bias(backend, table, sizes.hidden));
    } else if (table.factor == "upload") {
      proved.push_back(judged(table, choices, "separate_sync", differences_of_upload(backend),
                              "values copied as a group and one by one"));
    }
  }
  return proved;
}

}  // namespace abba::ops
