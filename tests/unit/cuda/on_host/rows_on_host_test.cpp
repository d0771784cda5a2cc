// The row-wise kernels and their launchers, run on the host: against the double reference, and bit
// by bit where the arithmetic leaves no choice. Sizes are small; tests/device has the large ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/cuda/kernels/action_features.h"
#include "engine/cuda/kernels/add.h"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/cache_walk.h"
#include "engine/cuda/kernels/embed_norm.h"
#include "engine/cuda/kernels/formulas.h"
#include "engine/cuda/kernels/gather_rows.h"
#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/layer_norm.h"
#include "engine/cuda/kernels/rope.h"
#include "engine/cuda/kernels/strided_bias.h"
#include "engine/cuda/kernels/transpose_heads.h"
#include "engine/cuda/kernels/type_embedding.h"
#include "engine/ops/variant.h"
#include "tests/unit/cuda/on_host/values.h"

namespace abba::cuda::on_host {
namespace {

namespace reference = ops::reference;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RowsOnHost : public testing::TestWithParam<Precision> {
 protected:
  [[nodiscard]] double relative() const { return is_bf16() ? 0.00391 : 2e-6; }
  [[nodiscard]] bool is_bf16() const { return GetParam() == Precision::kBf16; }
  ActValues random(std::int64_t count, float scale = 1.0F, std::int64_t shift = 0) {
    return ActValues::random(GetParam(), count, random_, scale, shift);
  }
  base::Random random_{2026};
  LaunchContext context_{GetParam()};
};

TEST_P(RowsOnHost, norms_agree_with_the_reference_at_any_width) {
  for (const std::int64_t hidden : {1, 7, 8, 31, 64, 100, 128, 260, 768, 1023, 1024, 1025, 4096}) {
    const std::int64_t rows = 3;
    std::vector<float> x = random_floats(rows * hidden, random_);
    x[static_cast<std::size_t>(hidden / 2)] = 3e4F;
    const std::vector<float> gain = random_floats(hidden, random_, 2.0F);
    const std::vector<float> bias = random_floats(hidden, random_);
    ActValues y(GetParam(), rows * hidden);
    const ops::NormProblem problem{rows, hidden, 1e-5F};
    const bool has_bias = hidden % 2 == 0;
    launch_layer_norm(problem, gain.data(), has_bias ? bias.data() : nullptr, x.data(), y.data(),
                      context_);
    const Values expected = reference::layer_norm(problem, values_of(x), values_of(gain),
                                                  has_bias ? values_of(bias) : Values{});
    EXPECT_LE(worst_error(y.values(), expected, relative(), 4e-6), 1.0) << hidden;
  }
}

TEST_P(RowsOnHost, add_norm_is_add_and_then_layer_norm) {
  for (const std::int64_t hidden : {13, 128, 1024}) {
    const std::vector<float> before = random_floats(2 * hidden, random_);
    const std::vector<float> gain = random_floats(hidden, random_);
    ActValues branch = random(2 * hidden, 3.0F);
    std::vector<float> sum = before;
    std::vector<float> residual = before;
    ActValues y(GetParam(), 2 * hidden);
    ActValues apart(GetParam(), 2 * hidden);
    launch_add({2, hidden}, branch.data(), sum.data(), context_);
    launch_layer_norm({2, hidden}, gain.data(), nullptr, sum.data(), apart.data(), context_);
    launch_add_norm({2, hidden}, gain.data(), nullptr, branch.data(), residual.data(), y.data(),
                    context_);
    EXPECT_EQ(residual, sum);
    EXPECT_TRUE(y == apart) << hidden;
    for (std::int64_t i = 0; i < 2 * hidden; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(sum[at], before[at] + branch.at(i));
    }
  }
}

TEST_P(RowsOnHost, embeddings_of_any_stored_type_are_normed) {
  const std::vector<std::int32_t> ids = {4, 0, 4};
  for (const std::int64_t hidden : {9, 128}) {
    const std::vector<float> drawn = random_floats(5 * hidden, random_);
    const std::vector<float> gain = random_floats(hidden, random_);
    std::vector<base::F16> f16;
    std::vector<base::Bf16> bf16;
    std::vector<float> from_f16;
    std::vector<float> from_bf16;
    for (const float value : drawn) {
      f16.push_back(base::to_f16(value));
      bf16.push_back(base::to_bf16(value));
      from_f16.push_back(base::to_float(f16.back()));
      from_bf16.push_back(base::to_float(bf16.back()));
    }
    const ops::EmbedNormProblem problem{3, hidden, 5, 1e-5F};
    const auto check = [&](tensor::DType stored, const void* table,
                           const std::vector<float>& same) {
      std::vector<float> residual(static_cast<std::size_t>(3 * hidden), kNan);
      ActValues normed(GetParam(), 3 * hidden);
      launch_embed_norm(problem, stored, table, gain.data(), ids.data(), residual.data(),
                        normed.data(), context_);
      const Values expected = reference::embed_norm(problem, same, values_of(gain), ids);
      EXPECT_LE(worst_error(values_of(residual), expected, 2e-6, 2e-6), 1.0);
      for (std::int64_t i = 0; i < 3 * hidden; ++i) {
        ASSERT_EQ(normed.at(i), rounded(GetParam(), residual[static_cast<std::size_t>(i)]));
      }
    };
    check(tensor::DType::kF16, f16.data(), from_f16);
    check(tensor::DType::kBf16, bf16.data(), from_bf16);
    check(tensor::DType::kF32, drawn.data(), drawn);
  }
}

TEST_P(RowsOnHost, geglu_and_gelu_have_the_bits_of_their_formulas) {
  for (const std::int64_t columns : {1, 6, 64, 320}) {
    const std::vector<float> u = random_floats(6 * columns, random_, 4.0F);
    ActValues g(GetParam(), 3 * columns);
    launch_geglu({3, columns}, u.data(), g.data(), context_);
    for (std::int64_t i = 0; i < 3 * columns; ++i) {
      const auto at = static_cast<std::size_t>(i / columns * 2 * columns + i % columns);
      const float exact = gelu(u[at]) * u[at + static_cast<std::size_t>(columns)];
      ASSERT_EQ(g.at(i), rounded(GetParam(), exact)) << columns;
    }
    ActValues y = random(3 * columns, 2.0F);
    const ActValues before = y;
    launch_gelu(3 * columns, y.data(), context_);
    for (std::int64_t i = 0; i < 3 * columns; ++i) {
      ASSERT_EQ(y.at(i), rounded(GetParam(), gelu(before.at(i)))) << columns;
    }
  }
}

constexpr ops::RopeVariant kLevels[] = {ops::RopeVariant::kRowBlock32Div64,
                                        ops::RopeVariant::kRowBlock32, ops::RopeVariant::kR1H4,
                                        ops::RopeVariant::kR2H4, ops::RopeVariant::kR1H8};

std::vector<float> rope_table(Precision precision, std::int64_t positions) {
  std::vector<float> table(static_cast<std::size_t>(positions * 64));
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t d = 0; d < 32; ++d) {
      const double angle = reference::rope_angle(10000.0F, p, d);
      const auto at = static_cast<std::size_t>(p * 64 + d);
      table[at] = rounded(precision, static_cast<float>(std::cos(angle)));
      table[at + 32] = rounded(precision, static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

TEST_P(RowsOnHost, rope_levels_have_the_same_bits_and_leave_v_alone) {
  for (const auto& [batch, length, heads] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {2, 33, 3}, {3, 31, 2}, {1, 65, 12}}) {
    const std::int64_t count = batch * length * 3 * heads * 64;
    ActValues before = random(count);
    const std::vector<float> table = rope_table(GetParam(), length);
    ActValues first = before;
    for (const ops::RopeVariant level : kLevels) {
      ActValues qkv = before;
      const ops::RopeProblem problem{batch, length, heads, level};
      launch_rope(problem, table.data(), qkv.data(), context_);
      if (level == kLevels[0]) first = qkv;
      EXPECT_TRUE(qkv == first) << static_cast<int>(level);
      Values expected = before.values();
      reference::rope(problem, 10000.0F, is_bf16(), expected);
      EXPECT_LE(worst_error(qkv.values(), expected, relative(), 1e-6), 1.0);
      for (std::int64_t i = 0; i < count; ++i) {
        if (i % (3 * heads * 64) >= 2 * heads * 64) {
          ASSERT_EQ(qkv.at(i), before.at(i));
        }
      }
    }
  }
}

TEST_P(RowsOnHost, bias_levels_have_the_same_bits_and_keep_a_nan) {
  for (const std::int64_t columns : {1, 2, 8, 129, 256}) {
    for (const bool relu : {false, true}) {
      ActValues bias = random(columns);
      ActValues before = random(5 * columns, 2.0F);
      before.set(0, kNan);
      for (const auto level : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
        ActValues y = before;
        launch_bias({5, columns, relu, level}, bias.data(), y.data(), context_);
        EXPECT_TRUE(std::isnan(y.at(0)));
        for (std::int64_t i = 1; i < 5 * columns; ++i) {
          const float sum = before.at(i) + bias.at(i % columns);
          ASSERT_EQ(y.at(i), rounded(GetParam(), relu ? std::max(sum, 0.0F) : sum)) << columns;
        }
      }
    }
  }
}

TEST_P(RowsOnHost, a_bias_of_rows_apart_leaves_what_lies_between) {
  for (const std::int64_t columns : {1, 2, 129, 256}) {
    for (const std::int64_t stride : {columns, columns + 3}) {
      for (const bool relu : {false, true}) {
        ActValues bias = random(columns);
        const ActValues before = random(5 * stride, 2.0F);
        ActValues y = before;
        launch_strided_bias({5, columns, relu}, bias.data(), y.data(), stride, context_);
        for (std::int64_t i = 0; i < 5 * stride; ++i) {
          const bool is_inside = i % stride < columns;
          const float sum = before.at(i) + (is_inside ? bias.at(i % stride) : 0.0F);
          const float kept = is_inside && relu ? std::max(sum, 0.0F) : sum;
          ASSERT_EQ(y.at(i), rounded(GetParam(), kept)) << columns << " of " << stride;
        }
      }
    }
  }
}

TEST_P(RowsOnHost, types_rows_and_heads_go_where_they_belong) {
  const ops::TypeEmbeddingProblem typed{3, 5, 67};
  ActValues h = random(15 * 67);
  ActValues table = random(3 * 67);
  const std::vector<std::int32_t> types = {2, 0, 1};
  std::vector<float> x(15 * 67, kNan);
  launch_type_embedding(typed, table.data(), h.data(), types.data(), x.data(), context_);
  EXPECT_LE(
      worst_error(values_of(x), reference::type_embedding(typed, h.values(), table.values(), types),
                  1e-7, 1e-12),
      1.0);
  for (const std::int64_t hidden : {1, 33, 64}) {
    const std::vector<std::int32_t> indices = {6, 0, 6, 3};
    ActValues from = random(7 * hidden);
    ActValues to(GetParam(), 4 * hidden);
    launch_gather_rows({4, 7, hidden}, is_bf16() ? 2 : 4, from.data(), indices.data(), to.data(),
                       context_);
    EXPECT_EQ(to.values(), reference::gather_rows({4, 7, hidden}, from.values(), indices));
  }
  for (const std::int64_t heads : {1, 3, 16}) {
    ActValues by_head = random(2 * 5 * heads * 64);
    ActValues by_row(GetParam(), 2 * 5 * heads * 64);
    launch_transpose_heads({2, 5, heads}, by_head.data(), by_row.data(), context_);
    EXPECT_EQ(by_row.values(), reference::transpose_heads({2, 5, heads}, by_head.values()));
  }
}

TEST_P(RowsOnHost, action_features_follow_the_definition) {
  for (const std::int64_t options : {1, 5, 40, 255}) {
    const ops::ActionFeaturesProblem problem{3, options, 9};
    const auto most = static_cast<std::int32_t>(options);
    const std::vector<std::int32_t> counts = {1, std::min(2, most), most};
    ActValues raw = random(3 * options, 4.0F);
    const std::vector<float> first = random_floats(27, random_);
    std::vector<float> logits(static_cast<std::size_t>(3 * options), kNan);
    ActValues features(GetParam(), 39);
    launch_action_features(problem, raw.data(), counts.data(), first.data(), logits.data(),
                           features.data(), context_);
    const auto expected =
        reference::action_features(problem, raw.values(), counts, values_of(first));
    EXPECT_EQ(values_of(logits), expected.logits);
    EXPECT_LE(worst_error(features.values(), expected.features, is_bf16() ? 0.00391 : 1e-5, 1e-6),
              1.0)
        << options;
  }
}

TEST_P(RowsOnHost, addresses_without_alignment_give_the_same_bits) {
  ActValues aligned = random(3 * 128);
  ActValues shifted(GetParam(), 3 * 128, 1);
  for (std::int64_t i = 0; i < 3 * 128; ++i) shifted.set(i, aligned.at(i));
  std::vector<float> a(3 * 128, 1.0F);
  std::vector<float> b(3 * 128, 1.0F);
  launch_add({3, 128}, aligned.data(), a.data(), context_);
  launch_add({3, 128}, shifted.data(), b.data(), context_);
  EXPECT_EQ(a, b);
  const std::vector<float> gain = random_floats(128, random_);
  ActValues y(GetParam(), 3 * 128);
  ActValues z(GetParam(), 3 * 128, 1);
  launch_add_norm({3, 128}, gain.data(), nullptr, aligned.data(), a.data(), y.data(), context_);
  launch_add_norm({3, 128}, gain.data(), nullptr, shifted.data(), b.data(), z.data(), context_);
  EXPECT_TRUE(y == z);
}

// A chain of 64-byte steps through 16 lines, in an order that is not that of their addresses.
TEST(CacheWalkOnHost, ends_where_so_many_steps_lead) {
  std::vector<std::uint32_t> next(256, 999);
  for (std::uint32_t i = 0; i < 16; ++i) next[i * 16] = (i + 5) % 16 * 16;
  const LaunchContext context(Precision::kFp32);
  for (const std::int64_t steps : {1, 2, 15, 16, 33}) {
    std::uint32_t end = 999;
    launch_cache_walk(next.data(), steps, &end, context);
    EXPECT_EQ(end, static_cast<std::uint32_t>(5 * steps % 16 * 16)) << steps;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowsOnHost, testing::Values(Precision::kBf16, Precision::kFp32),
                         [](const auto& tested) {
                           return std::string(ops::name_of(tested.param));
                         });

}  // namespace
}  // namespace abba::cuda::on_host
