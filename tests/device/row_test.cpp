// Layer norm in its three forms, sums, embeddings, gather, transpose, action features: against the
// double reference at 1, primes, vector edges +-1, the models' widths, and adversarial rows.
#include <cmath>

#include "tests/device/device.h"

namespace abba::device {
namespace {

namespace reference = ops::reference;

class Rows : public EveryWay {
 protected:
  // bf16: half a unit of the output; both: fp32 arithmetic on values of size 1.
  [[nodiscard]] double relative() const { return is_bf16() ? 0.00391 : 2e-6; }
  void check_norm(std::int64_t rows, std::int64_t hidden, bool has_bias, bool is_adversarial);
  void check_add_norm(std::int64_t rows, std::int64_t hidden);
};

void Rows::check_norm(std::int64_t rows, std::int64_t hidden, bool has_bias, bool is_adversarial) {
  Buffer x = random(DType::kF32, Shape{rows, hidden});
  if (is_adversarial) make_adversarial(x);
  const Buffer gain = random(DType::kF32, Shape{hidden}, 2.0F);
  const Buffer bias = random(DType::kF32, Shape{hidden});
  const ops::NormProblem problem{rows, hidden, 1e-5F};
  const ops::WeightId gain_id = vector(gain, ops::VectorRole::kNorm);
  const ops::WeightId bias_id = has_bias ? vector(bias, ops::VectorRole::kNorm) : ops::WeightId{};
  Tensor there = on_device(x);
  Tensor y = output(act(), Shape{rows, hidden});
  backend_->layer_norm(problem, gain_id, bias_id, there.view(), y.view());
  const Values expected = reference::layer_norm(problem, values_of(x), values_of(gain),
                                                has_bias ? values_of(bias) : Values{});
  // A row of one huge value among small ones has a mean and a deviation near 30 and 1e3: what is
  // left of the small ones carries fp32 errors of that size.
  const double absolute = is_adversarial ? 2e-5 : 2e-6;
  EXPECT_LE(worst_error(values_of(y.read()), expected, relative(), absolute), 1.0)
      << rows << " x " << hidden;
  EXPECT_EQ(differing_bits(there.read(), x), 0);
}

TEST_P(Rows, layer_norm_agrees_with_the_reference) {
  for (const std::int64_t hidden : {1, 2, 7, 31, 32, 33, 63, 64, 97, 127, 128, 129, 768, 1024}) {
    for (const std::int64_t rows : {1, 7, 65}) check_norm(rows, hidden, rows == 7, false);
  }
  for (const std::int64_t hidden : {255, 256, 257, 1023, 1025, 2048}) {
    check_norm(3, hidden, true, false);
  }
  if (is_thorough()) {
    check_norm(16384, 1024, false, false);
    check_norm(4099, 768, true, false);
  }
}

TEST_P(Rows, layer_norm_survives_adversarial_rows) {
  for (const std::int64_t hidden : {64, 128, 768, 1024}) check_norm(5, hidden, true, true);
}

void Rows::check_add_norm(std::int64_t rows, std::int64_t hidden) {
  const Buffer before = random(DType::kF32, Shape{rows, hidden});
  const Buffer branch = random(act(), Shape{rows, hidden}, 3.0F);
  const Buffer gain = random(DType::kF32, Shape{hidden});
  const Buffer bias = random(DType::kF32, Shape{hidden});
  const ops::NormProblem problem{rows, hidden, 1e-5F};
  const ops::WeightId gain_id = vector(gain, ops::VectorRole::kNorm);
  const ops::WeightId bias_id =
      rows % 2 == 1 ? vector(bias, ops::VectorRole::kNorm) : ops::WeightId{};
  Tensor x = on_device(before);
  Tensor sum = on_device(before);
  Tensor added = on_device(branch);
  Tensor y = output(act(), Shape{rows, hidden});
  Tensor separately = output(act(), Shape{rows, hidden});
  Values expected = values_of(before);
  const Values more = values_of(branch);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<float>(expected[i]) + static_cast<float>(more[i]);
  }
  backend_->add_norm(problem, gain_id, bias_id, added.view(), x.view(), y.view());
  EXPECT_EQ(values_of(x.read()), expected) << rows << " x " << hidden;
  backend_->add({rows, hidden}, added.view(), sum.view());
  EXPECT_EQ(differing_bits(x.read(), sum.read()), 0);
  backend_->layer_norm(problem, gain_id, bias_id, sum.view(), separately.view());
  EXPECT_EQ(differing_bits(y.read(), separately.read()), 0) << rows << " x " << hidden;
  EXPECT_LE(worst_error(values_of(y.read()),
                        reference::layer_norm(problem, expected, values_of(gain),
                                              bias_id.is_valid() ? values_of(bias) : Values{}),
                        relative(), 2e-6),
            1.0);
}

TEST_P(Rows, add_norm_adds_first_and_keeps_the_sum) {
  for (const auto& [rows, hidden] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {13, 101}, {2, 64}, {5, 128}, {64, 768}, {65, 1024}}) {
    check_add_norm(rows, hidden);
  }
}

TEST_P(Rows, embeddings_of_any_stored_type_are_normed) {
  for (const std::int64_t hidden : {72, 128, 1024}) {
    const std::vector<std::int32_t> ids = {0, 10, 3, 3, 7, 9, 1, 2, 8};
    const auto rows = static_cast<std::int64_t>(ids.size());
    const Buffer gain = random(DType::kF32, Shape{hidden});
    const ops::EmbedNormProblem problem{rows, hidden, 11, 1e-5F};
    Tensor ids_there = on_device(integers(ids));
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
      Tensor residual = output(DType::kF32, Shape{rows, hidden});
      Tensor normed = output(act(), Shape{rows, hidden});
      backend_->embed_norm(problem, backend_->prepare_table("table", table.view()),
                           vector(gain, ops::VectorRole::kNorm), ids_there.view(), residual.view(),
                           normed.view());
      const Values expected = reference::embed_norm(problem, exact, values_of(gain), ids);
      const Buffer got = residual.read();
      EXPECT_LE(worst_error(values_of(got), expected, 2e-6, 2e-6), 1.0);
      EXPECT_EQ(values_of(normed.read()), as_act(got));
    }
  }
}

TEST_P(Rows, type_embedding_adds_the_row_of_the_question) {
  for (const auto& [batch, length, hidden] :
       std::vector<std::array<std::int64_t, 3>>{{3, 5, 67}, {1, 1, 1}, {16, 33, 128}}) {
    const Buffer h = random(act(), Shape{batch * length, hidden});
    const Buffer table = random(DType::kF32, Shape{3, hidden});
    std::vector<std::int32_t> types;
    for (std::int64_t b = 0; b < batch; ++b) types.push_back(static_cast<std::int32_t>(2 - b % 3));
    Tensor there = on_device(h);
    Tensor types_there = on_device(integers(types));
    Tensor x = output(DType::kF32, Shape{batch * length, hidden});
    const ops::TypeEmbeddingProblem problem{batch, length, hidden};
    backend_->type_embedding(problem, backend_->prepare_type_table("types", table.view()),
                             there.view(), types_there.view(), x.view());
    const Values expected = reference::type_embedding(problem, values_of(h), as_act(table), types);
    EXPECT_LE(worst_error(values_of(x.read()), expected, 1e-7, 1e-12), 1.0);
  }
}

TEST_P(Rows, gather_copies_rows_of_either_type) {
  for (const std::int64_t hidden : {1, 33, 64, 1024}) {
    std::vector<std::int32_t> indices = {4, 0, 4, 6};
    for (int i = 0; i < 41; ++i) indices.push_back(static_cast<std::int32_t>(random_.below(7)));
    const auto picked = static_cast<std::int64_t>(indices.size());
    for (const DType dtype : {DType::kF32, act()}) {
      const Buffer x = random(dtype, Shape{7, hidden});
      Tensor there = on_device(x);
      Tensor indices_there = on_device(integers(indices));
      Tensor y = output(dtype, Shape{picked, hidden});
      const ops::GatherProblem problem{picked, 7, hidden};
      backend_->gather_rows(problem, there.view(), indices_there.view(), y.view());
      EXPECT_EQ(values_of(y.read()), reference::gather_rows(problem, values_of(x), indices));
    }
  }
}

TEST_P(Rows, heads_are_transposed) {
  for (const auto& [batch, rows, heads] :
       std::vector<std::array<std::int64_t, 3>>{{2, 65, 3}, {1, 1, 1}, {3, 37, 16}, {1, 512, 2}}) {
    const ops::TransposeHeadsProblem problem{batch, rows, heads};
    const Buffer by_head = random(act(), Shape{batch * rows, heads * 64});
    Tensor there = on_device(by_head);
    Tensor by_row = output(act(), Shape{batch * rows, heads * 64});
    backend_->transpose_heads(problem, there.view(), by_row.view());
    EXPECT_EQ(values_of(by_row.read()), reference::transpose_heads(problem, values_of(by_head)));
  }
}

TEST_P(Rows, action_features_follow_the_definition) {
  for (const auto& [options, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{16, 5}, {1, 128}, {255, 1024}}) {
    const ops::ActionFeaturesProblem problem{4, options, hidden};
    const Buffer raw = random(act(), Shape{4 * options, 1}, 6.0F);
    const Buffer first = random(DType::kF32, Shape{4, hidden});
    const auto most = static_cast<std::int32_t>(options);
    const std::vector<std::int32_t> counts = {1, std::min(2, most), most, std::min(7, most)};
    Tensor raw_there = on_device(raw);
    Tensor counts_there = on_device(integers(counts));
    Tensor first_there = on_device(first);
    Tensor logits = output(DType::kF32, Shape{4, options});
    Tensor features = output(act(), Shape{4, hidden + 4});
    backend_->action_features(problem, raw_there.view(), counts_there.view(), first_there.view(),
                              logits.view(), features.view());
    const auto expected =
        reference::action_features(problem, values_of(raw), counts, values_of(first));
    EXPECT_EQ(values_of(logits.read()), expected.logits);
    EXPECT_LE(worst_error(values_of(features.read()), expected.features, is_bf16() ? 0.00391 : 1e-5,
                          1e-6),
              1.0)
        << options << " options";
  }
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

INSTANTIATE_TEST_SUITE_P(device, Rows, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
