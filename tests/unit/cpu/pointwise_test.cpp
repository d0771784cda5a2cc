// Biases added by themselves and the gated GELU by itself.
#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

namespace reference = ops::reference;

class Pointwise : public EveryWay {};

TEST_P(Pointwise, separate_biases_are_bitwise_equal_and_right) {
  for (const std::int64_t columns : {1, 3, 8, 127, 384, 1024}) {
    for (const std::int64_t rows : {1, 7, 65}) {
      for (const bool relu : {false, true}) {
        const Buffer bias = random(DType::kF32, Shape{columns});
        const ops::WeightId id = vector(bias, ops::VectorRole::kBias);
        Buffer flat = random(act(), Shape{rows, columns}, 2.0F);
        if (rows == 7) make_adversarial(flat);
        Buffer by_row = copy_of(flat);
        ops::BiasProblem problem{rows, columns, relu, ops::BiasVariant::kStridedDiv64};
        Values expected = values_of(flat);
        reference::add_bias(problem, as_act(bias), expected);
        backend_->add_bias(problem, id, flat.view());
        problem.variant = ops::BiasVariant::kRows2d;
        backend_->add_bias(problem, id, by_row.view());
        EXPECT_EQ(differing_bits(flat, by_row), 0) << rows << " x " << columns;
        EXPECT_LE(worst_error(values_of(flat), expected, is_bf16() ? 0.00391 : 1e-6, 1e-7), 1.0);
      }
    }
  }
}

TEST_P(Pointwise, geglu_agrees_with_the_reference) {
  for (const std::int64_t columns : {1, 7, 16, 320, 331}) {
    for (const std::int64_t rows : {1, 9}) {
      Buffer u = random(DType::kF32, Shape{rows, 2 * columns}, 4.0F);
      if (rows == 9) make_adversarial(u);
      Buffer g = output(act(), Shape{rows, columns});
      backend_->geglu({rows, columns}, u.view(), g.view());
      const Values expected = reference::geglu({rows, columns}, values_of(u));
      EXPECT_LE(worst_error(values_of(g), expected, is_bf16() ? 0.00393 : 8e-6, 1e-30), 1.0)
          << rows << " x " << columns;
    }
  }
}

// Canary: the halves swapped.
TEST_P(Pointwise, canary_swapped_halves_are_caught) {
  const std::int64_t columns = 32;
  const Buffer u = random(DType::kF32, Shape{2, 2 * columns}, 4.0F);
  Values swapped = values_of(u);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 32; ++c) std::swap(swapped[r * 64 + c], swapped[r * 64 + 32 + c]);
  }
  Buffer g = output(act(), Shape{2, columns});
  backend_->geglu({2, columns}, u.view(), g.view());
  EXPECT_GT(worst_error(values_of(g), reference::geglu({2, columns}, swapped), 0.004, 1e-6), 1.0);
}

INSTANTIATE_TEST_SUITE_P(cpu, Pointwise, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::cpu
