// Layer norm in its three forms, sums, type embedding, gather, transpose, action features.
#include <cmath>

#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

namespace reference = ops::reference;

class Rows : public EveryWay {
 protected:
  // bf16: half a unit of the output; both: fp32 arithmetic on values of size `scale`.
  [[nodiscard]] double relative() const { return is_bf16() ? 0.00391 : 2e-6; }
  void check_norm(std::int64_t rows, std::int64_t hidden, bool has_bias, bool is_adversarial);
};

void Rows::check_norm(std::int64_t rows, std::int64_t hidden, bool has_bias, bool is_adversarial) {
  Buffer x = random(DType::kF32, Shape{rows, hidden});
  if (is_adversarial) make_adversarial(x);
  const Buffer gain = random(DType::kF32, Shape{hidden}, 2.0F);
  const Buffer bias = random(DType::kF32, Shape{hidden});
  const ops::NormProblem problem{rows, hidden, 1e-5F};
  const ops::WeightId gain_id = vector(gain, ops::VectorRole::kNorm);
  const ops::WeightId bias_id = has_bias ? vector(bias, ops::VectorRole::kNorm) : ops::WeightId{};
  Buffer y = output(act(), Shape{rows, hidden});
  const Buffer before = copy_of(x);
  backend_->layer_norm(problem, gain_id, bias_id, x.view(), y.view());
  const Values expected = reference::layer_norm(problem, values_of(x), values_of(gain),
                                                has_bias ? values_of(bias) : Values{});
  // A row of one huge value among small ones has a mean and a deviation near 30 and 1e3: what is
  // left of the small ones carries fp32 errors of that size.
  const double absolute = is_adversarial ? 2e-5 : 2e-6;
  EXPECT_LE(worst_error(values_of(y), expected, relative(), absolute), 1.0)
      << rows << " x " << hidden;
  EXPECT_EQ(differing_bits(x, before), 0);
}

TEST_P(Rows, layer_norm_agrees_with_the_reference) {
  for (const std::int64_t hidden : {1, 7, 8, 31, 64, 97, 128, 768, 1024}) {
    for (const std::int64_t rows : {1, 7, 9}) check_norm(rows, hidden, rows == 7, false);
  }
  check_norm(513, 128, true, false);
}

TEST_P(Rows, layer_norm_survives_adversarial_rows) {
  for (const std::int64_t hidden : {64, 1024}) check_norm(5, hidden, true, true);
}

TEST_P(Rows, add_norm_adds_first_and_keeps_the_sum) {
  const std::int64_t rows = 13;
  const std::int64_t hidden = 101;
  Buffer x = random(DType::kF32, Shape{rows, hidden});
  Buffer sum = copy_of(x);
  const Buffer branch = random(act(), Shape{rows, hidden}, 3.0F);
  const Buffer gain = random(DType::kF32, Shape{hidden});
  const ops::NormProblem problem{rows, hidden, 1e-5F};
  Buffer y = output(act(), Shape{rows, hidden});
  Buffer separately = output(act(), Shape{rows, hidden});
  const ops::WeightId id = vector(gain, ops::VectorRole::kNorm);
  Values expected = values_of(x);
  const Values added = values_of(branch);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<float>(expected[i]) + static_cast<float>(added[i]);
  }
  backend_->add_norm(problem, id, {}, branch.view(), x.view(), y.view());
  EXPECT_EQ(values_of(x), expected);
  backend_->add({rows, hidden}, branch.view(), sum.view());
  EXPECT_EQ(differing_bits(x, sum), 0);
  backend_->layer_norm(problem, id, {}, sum.view(), separately.view());
  EXPECT_EQ(differing_bits(y, separately), 0);
  EXPECT_LE(worst_error(values_of(y), reference::layer_norm(problem, expected, values_of(gain), {}),
                        relative(), 2e-6),
            1.0);
}

TEST_P(Rows, embeddings_of_any_stored_type_are_normed) {
  const std::int64_t hidden = 72;
  const std::vector<std::int32_t> ids = {0, 10, 3, 3, 7, 9, 1, 2, 8};
  const auto rows = static_cast<std::int64_t>(ids.size());
  const Buffer gain = random(DType::kF32, Shape{hidden});
  const ops::EmbedNormProblem problem{rows, hidden, 11, 1e-5F};
  for (const DType stored : {DType::kF32, DType::kBf16, DType::kF16}) {
    const Buffer floats = random(DType::kF32, Shape{11, hidden});
    Buffer table(stored, floats.shape());
    std::vector<float> exact(static_cast<std::size_t>(11 * hidden));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const float value = floats.as<float>()[i];
      if (stored == DType::kF32) exact[i] = table.as<float>()[i] = value;
      if (stored == DType::kBf16) {
        exact[i] = base::to_float(table.as<base::Bf16>()[i] = base::to_bf16(value));
      }
      if (stored == DType::kF16) {
        exact[i] = base::to_float(table.as<base::F16>()[i] = base::to_f16(value));
      }
    }
    Buffer residual = output(DType::kF32, Shape{rows, hidden});
    Buffer normed = output(act(), Shape{rows, hidden});
    backend_->embed_norm(problem, backend_->prepare_table("table", table.view()),
                         vector(gain, ops::VectorRole::kNorm), integers(ids).view(),
                         residual.view(), normed.view());
    const Values expected = reference::embed_norm(problem, exact, values_of(gain), ids);
    EXPECT_LE(worst_error(values_of(residual), expected, 2e-6, 2e-6), 1.0);
    EXPECT_EQ(values_of(normed), as_act(residual));
  }
}

TEST_P(Rows, type_embedding_adds_the_row_of_the_question) {
  const ops::TypeEmbeddingProblem problem{3, 5, 67};
  const Buffer h = random(act(), Shape{15, 67});
  const Buffer table = random(DType::kF32, Shape{3, 67});
  const std::vector<std::int32_t> types = {2, 0, 1};
  Buffer x = output(DType::kF32, Shape{15, 67});
  backend_->type_embedding(problem, backend_->prepare_type_table("types", table.view()), h.view(),
                           integers(types).view(), x.view());
  const Values expected = reference::type_embedding(problem, values_of(h), as_act(table), types);
  EXPECT_LE(worst_error(values_of(x), expected, 1e-7, 1e-12), 1.0);
}

TEST_P(Rows, gather_copies_rows_of_either_type) {
  const std::vector<std::int32_t> indices = {4, 0, 4, 6};
  for (const DType dtype : {DType::kF32, act()}) {
    const Buffer x = random(dtype, Shape{7, 33});
    Buffer y = output(dtype, Shape{4, 33});
    const ops::GatherProblem problem{4, 7, 33};
    backend_->gather_rows(problem, x.view(), integers(indices).view(), y.view());
    EXPECT_EQ(values_of(y), reference::gather_rows(problem, values_of(x), indices));
  }
}

TEST_P(Rows, heads_are_transposed) {
  const ops::TransposeHeadsProblem problem{2, 65, 3};
  const Buffer by_head = random(act(), Shape{2 * 65, 3 * 64});
  Buffer by_row = output(act(), Shape{2 * 65, 3 * 64});
  backend_->transpose_heads(problem, by_head.view(), by_row.view());
  EXPECT_EQ(values_of(by_row), reference::transpose_heads(problem, values_of(by_head)));
}

TEST_P(Rows, action_features_follow_the_definition) {
  const ops::ActionFeaturesProblem problem{4, 16, 5};
  const Buffer raw = random(act(), Shape{64, 1}, 6.0F);
  const Buffer first = random(DType::kF32, Shape{4, 5});
  const std::vector<std::int32_t> counts = {1, 2, 16, 7};
  Buffer logits = output(DType::kF32, Shape{4, 16});
  Buffer features = output(act(), Shape{4, 9});
  backend_->action_features(problem, raw.view(), integers(counts).view(), first.view(),
                            logits.view(), features.view());
  const auto expected =
      reference::action_features(problem, values_of(raw), counts, values_of(first));
  EXPECT_EQ(values_of(logits), expected.logits);
  EXPECT_LE(worst_error(values_of(features), expected.features, is_bf16() ? 0.00391 : 1e-5, 1e-6),
            1.0);
}

// Canary: a mean of squares minus the square of the mean, in fp32, must not pass for a variance.
TEST_P(Rows, canary_a_cancelling_variance_is_caught) {
  const std::int64_t hidden = 256;
  Values x(hidden);
  for (double& value : x) value = 3e4 + random_.uniform();
  float sum = 0.0F;
  float squares = 0.0F;
  for (const double value : x) {
    sum += static_cast<float>(value);
    squares += static_cast<float>(value) * static_cast<float>(value);
  }
  const float mean = sum / 256.0F;
  const float variance = squares / 256.0F - mean * mean;
  Values wrong(hidden);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    wrong[i] = (x[i] - mean) / std::sqrt(std::abs(variance) + 1e-5F);
  }
  const Values ones(hidden, 1.0);
  EXPECT_GT(worst_error(wrong, reference::layer_norm({1, hidden}, x, ones, {}), relative(), 2e-6),
            1.0);
}

INSTANTIATE_TEST_SUITE_P(cpu, Rows, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::cpu
