// A NaN in an input or a weight must come out: a kernel that turns one into a number lets a corrupt
// checkpoint give a plausible answer. Instructions for max() drop a NaN in one operand, so each
// place where a maximum or a comparison decides has its case here, on every way the backend runs.
#include <cmath>
#include <limits>

#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

using ops::Epilogue;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHidden = kHeads * ops::kHeadDim;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void set(Buffer& buffer, std::int64_t index, float value) {
  if (buffer.dtype() == DType::kF32) {
    buffer.as<float>()[index] = value;
  } else {
    buffer.as<base::Bf16>()[index] = base::to_bf16(value);
  }
}

// How many of columns [first, first + count) of a row of `width` are NaN.
std::int64_t nans(const Values& values, std::int64_t width, std::int64_t row, std::int64_t first,
                  std::int64_t count) {
  std::int64_t found = 0;
  for (std::int64_t c = first; c < first + count; ++c) {
    found += std::isnan(values[static_cast<std::size_t>(row * width + c)]) ? 1 : 0;
  }
  return found;
}
std::int64_t nans(const Values& values) {
  return nans(values, 0, 0, 0, static_cast<std::int64_t>(values.size()));
}

class NotANumber : public EveryWay {
 protected:
  Values attend(const Buffer& qkv, std::int64_t half_window);
  Values multiply(Epilogue epilogue, const Buffer& x, const Buffer& weight, const Buffer& bias);
};

constexpr std::int64_t kLength = 70;
constexpr std::int64_t kReal = 61;  // of batch row 0; row 1 is full

Values NotANumber::attend(const Buffer& qkv, std::int64_t half_window) {
  const ops::AttentionProblem problem{2, kLength, kHeads, half_window};
  Buffer out = output(act(), Shape{2 * kLength, kHidden});
  backend_->plan_attention(problem);
  backend_->attention(problem, qkv.view(), integers({kReal, kLength}).view(), out.view());
  return values_of(out);
}

// One NaN in q, k or v of token 20, head 1: the queries that read it lose head 1, nobody head 0,
// and nobody in the other batch row.
TEST_P(NotANumber, in_q_k_or_v_reaches_every_query_that_reads_it) {
  constexpr std::int64_t kToken = 20;
  for (const std::int64_t window : {ops::kFullAttention, std::int64_t{9}}) {
    const Buffer clean = random(act(), Shape{2 * kLength, 3 * kHidden}, 2.0F);
    ASSERT_EQ(nans(attend(clean, window)), 0);
    for (const std::int64_t part : {0, 1, 2}) {
      Buffer qkv = copy_of(clean);
      const std::int64_t column = part * kHidden + ops::kHeadDim + 5;
      set(qkv, kToken * 3 * kHidden + column, kNan);
      const Values out = attend(qkv, window);
      for (std::int64_t i = 0; i < kReal; ++i) {
        const bool is_near = window < 0 || std::abs(i - kToken) <= window;
        const bool is_reader = part == 0 ? i == kToken : is_near;
        const std::int64_t in_head = nans(out, kHidden, i, ops::kHeadDim, ops::kHeadDim);
        const std::int64_t expected = part == 2 ? 1 : ops::kHeadDim;
        if (is_reader) {
          EXPECT_EQ(in_head, expected) << "part " << part << ", query " << i;
        } else if (part == 0) {
          EXPECT_EQ(in_head, 0) << "query " << i;
        }
        EXPECT_EQ(nans(out, kHidden, i, 0, ops::kHeadDim), 0) << "part " << part << ", query " << i;
      }
      EXPECT_EQ(nans({out.begin() + kLength * kHidden, out.end()}), 0) << "part " << part;
    }
  }
}

TEST_P(NotANumber, in_keys_reaches_a_subset_of_queries) {
  const ops::SubsetAttentionProblem problem{1, 3, kLength, kHeads};
  const Buffer q = random(act(), Shape{3, kHidden});
  Buffer kv = random(act(), Shape{kLength, 2 * kHidden});
  backend_->plan_attention(problem);
  const auto attend_all = [&] {
    Buffer out = output(act(), Shape{3, kHidden});
    backend_->attention(problem, q.view(), kv.view(), integers({kLength}).view(), out.view());
    return values_of(out);
  };
  ASSERT_EQ(nans(attend_all()), 0);
  set(kv, 66 * 2 * kHidden + 3, kNan);  // the key of head 0
  EXPECT_EQ(nans(attend_all()), 3 * ops::kHeadDim);
}

Values NotANumber::multiply(Epilogue epilogue, const Buffer& x, const Buffer& weight,
                            const Buffer& bias) {
  const bool has_bias = epilogue != Epilogue::kGeglu;
  const std::int64_t columns = weight.shape()[0] / (has_bias ? 1 : 2);
  const ops::MatmulProblem problem{x.shape()[0], columns, x.shape()[1], epilogue, has_bias};
  const ops::WeightId id = has_bias ? vector(bias, ops::VectorRole::kBias) : ops::WeightId{};
  Buffer y = output(act(), Shape{problem.rows, columns});
  backend_->matmul(backend_->plan_matmul(problem, matrix(weight), id), x.view(), y.view());
  return values_of(y);
}

TEST_P(NotANumber, in_a_product_passes_every_epilogue) {
  constexpr std::int64_t kRows = 7, kOutputs = 42, kDepth = 33;
  for (const auto epilogue :
       {Epilogue::kNone, Epilogue::kRelu, Epilogue::kGelu, Epilogue::kGeglu}) {
    const bool is_geglu = epilogue == Epilogue::kGeglu;
    const std::int64_t columns = is_geglu ? kOutputs / 2 : kOutputs;
    const Buffer x = random(act(), Shape{kRows, kDepth});
    const Buffer weight = random(DType::kF32, Shape{kOutputs, kDepth});
    const Buffer bias = random(DType::kF32, Shape{columns});
    const int name = static_cast<int>(epilogue);
    ASSERT_EQ(nans(multiply(epilogue, x, weight, bias)), 0) << name;

    Buffer bad_x = copy_of(x);
    set(bad_x, 3 * kDepth + 30, kNan);
    const Values by_row = multiply(epilogue, bad_x, weight, bias);
    EXPECT_EQ(nans(by_row), columns) << name;
    EXPECT_EQ(nans(by_row, columns, 3, 0, columns), columns) << name;

    for (const std::int64_t row : {std::int64_t{5}, kOutputs - 2}) {  // for kGeglu: of either half
      Buffer bad_weight = copy_of(weight);
      set(bad_weight, row * kDepth + 7, kNan);
      const Values by_column = multiply(epilogue, x, bad_weight, bias);
      EXPECT_EQ(nans(by_column), kRows) << name;
      EXPECT_EQ(nans(by_column, columns, 6, row % columns, 1), 1) << name;
    }
    if (is_geglu) continue;
    Buffer bad_bias = copy_of(bias);
    set(bad_bias, 41, kNan);
    EXPECT_EQ(nans(multiply(epilogue, x, weight, bad_bias)), kRows) << name;
  }
}

TEST_P(NotANumber, passes_a_separate_bias_and_its_relu) {
  constexpr std::int64_t kRows = 5, kColumns = 37;
  const Buffer bias = random(DType::kF32, Shape{kColumns});
  const ops::WeightId id = vector(bias, ops::VectorRole::kBias);
  Buffer bad_bias = copy_of(bias);
  set(bad_bias, 36, kNan);
  const ops::WeightId bad_id = vector(bad_bias, ops::VectorRole::kBias);
  for (const auto variant : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
    for (const bool relu : {false, true}) {
      const ops::BiasProblem problem{kRows, kColumns, relu, variant};
      Buffer clean = random(act(), Shape{kRows, kColumns});
      Buffer one = copy_of(clean);
      Buffer all = copy_of(clean);
      set(one, 2 * kColumns + 1, kNan);
      set(one, 2 * kColumns + 34, kNan);  // in the tail of the row
      backend_->add_bias(problem, id, clean.view());
      backend_->add_bias(problem, id, one.view());
      backend_->add_bias(problem, bad_id, all.view());
      EXPECT_EQ(nans(values_of(clean)), 0);
      EXPECT_EQ(nans(values_of(one)), 2) << relu;
      EXPECT_EQ(nans(values_of(one), kColumns, 2, 0, kColumns), 2) << relu;
      EXPECT_EQ(nans(values_of(all)), kRows) << relu;
    }
  }
}

TEST_P(NotANumber, passes_the_gated_gelu_from_either_half) {
  constexpr std::int64_t kColumns = 21;
  for (const std::int64_t at : {2 * kColumns + 4, 2 * kColumns + kColumns + 20}) {
    Buffer u = random(DType::kF32, Shape{3, 2 * kColumns}, 4.0F);
    Buffer g = output(act(), Shape{3, kColumns});
    set(u, at, kNan);
    backend_->geglu({3, kColumns}, u.view(), g.view());
    EXPECT_EQ(nans(values_of(g)), 1);
    EXPECT_EQ(nans(values_of(g), kColumns, 1, at % kColumns, 1), 1);
  }
}

TEST_P(NotANumber, fills_its_row_of_a_layer_norm) {
  constexpr std::int64_t kRows = 4, kWidth = 75;
  const ops::NormProblem problem{kRows, kWidth, 1e-5F};
  const ops::WeightId gain = vector(random(DType::kF32, Shape{kWidth}), ops::VectorRole::kNorm);
  for (const std::int64_t column : {0, 17, 74}) {
    Buffer x = random(DType::kF32, Shape{kRows, kWidth});
    Buffer residual = copy_of(x);
    Buffer branch = random(act(), Shape{kRows, kWidth});
    Buffer y = output(act(), Shape{kRows, kWidth});
    Buffer added = output(act(), Shape{kRows, kWidth});
    set(x, 2 * kWidth + column, kNan);
    set(branch, 1 * kWidth + column, kNan);
    backend_->layer_norm(problem, gain, {}, x.view(), y.view());
    EXPECT_EQ(nans(values_of(y)), kWidth) << column;
    EXPECT_EQ(nans(values_of(y), kWidth, 2, 0, kWidth), kWidth) << column;
    backend_->add_norm(problem, gain, {}, branch.view(), residual.view(), added.view());
    EXPECT_EQ(nans(values_of(added), kWidth, 1, 0, kWidth), kWidth) << column;
    EXPECT_EQ(nans(values_of(added)), kWidth) << column;
    EXPECT_EQ(nans(values_of(residual)), 1) << column;
  }
}

TEST_P(NotANumber, is_rotated_into_both_of_its_pair) {
  const ops::WeightId table = backend_->prepare_rope(10000.0F, 8);
  for (const auto& variant : ops::variant_table("rope").variants) {
    ops::Choices choices;
    ops::set_choice(choices, "rope", variant.name);
    Buffer qkv = random(act(), Shape{8, 3 * kHidden});
    set(qkv, 5 * 3 * kHidden + ops::kHeadDim + 40, kNan);
    backend_->rope({1, 8, kHeads, choices.rope}, table, qkv.view());
    EXPECT_EQ(nans(values_of(qkv)), 2) << variant.name;
    EXPECT_EQ(nans(values_of(qkv), 3 * kHidden, 5, ops::kHeadDim + 8, 1), 1) << variant.name;
  }
}

// Its own place among the logits, and every feature that is a function of the distribution.
TEST_P(NotANumber, among_the_logits_leaves_no_plausible_feature) {
  for (const std::int64_t place : {0, 1, 2}) {
    Buffer raw = random(act(), Shape{8, 1});
    const Buffer first = random(DType::kF32, Shape{2, 5});
    Buffer logits = output(DType::kF32, Shape{2, 4});
    Buffer features = output(act(), Shape{2, 9});
    set(raw, 4 + place, kNan);
    backend_->action_features({2, 4, 5}, raw.view(), integers({4, 3}).view(), first.view(),
                              logits.view(), features.view());
    EXPECT_EQ(nans(values_of(logits)), 1) << place;
    EXPECT_EQ(nans(values_of(logits), 4, 1, place, 1), 1) << place;
    EXPECT_EQ(nans(values_of(features)), 3) << place;
    EXPECT_EQ(nans(values_of(features), 9, 1, 5, 3), 3) << place;
  }
}

INSTANTIATE_TEST_SUITE_P(cpu, NotANumber, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::cpu
