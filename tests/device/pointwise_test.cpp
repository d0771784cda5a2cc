// Biases added by themselves and the gated GELU by itself.
#include <cstring>
#include <utility>

#include "tests/device/device.h"

namespace abba::device {
namespace {

namespace reference = ops::reference;

// Rows of the same length, whatever their strides.
void copy_rows(tensor::ConstView from, tensor::View to) {
  const std::size_t bytes = static_cast<std::size_t>(from.columns()) * size_bytes_of(from.dtype());
  const auto at = [](auto view, std::int64_t row) { return view.slice_rows(row, 1).data(); };
  for (std::int64_t r = 0; r < from.rows(); ++r) std::memcpy(at(to, r), at(from, r), bytes);
}

class Pointwise : public EveryWay {
 protected:
  void check_bias(std::int64_t rows, std::int64_t columns, bool relu);
  void check_bias_of_rows_apart(const ops::BiasProblem& problem, std::int64_t shift,
                                std::int64_t gap);
  void check_geglu(std::int64_t rows, std::int64_t columns, bool is_adversarial);
};

void Pointwise::check_bias(std::int64_t rows, std::int64_t columns, bool relu) {
  const Buffer bias = random(DType::kF32, Shape{columns});
  const ops::WeightId id = vector(bias, ops::VectorRole::kBias);
  Buffer y = random(act(), Shape{rows, columns}, 2.0F);
  if (rows == 7) make_adversarial(y);
  Tensor flat = on_device(y);
  Tensor by_row = on_device(y);
  ops::BiasProblem problem{rows, columns, relu, ops::BiasVariant::kStridedDiv64};
  Values expected = values_of(y);
  reference::add_bias(problem, as_act(bias), expected);
  backend_->add_bias(problem, id, flat.view());
  problem.variant = ops::BiasVariant::kRows2d;
  backend_->add_bias(problem, id, by_row.view());
  const Buffer got = flat.read();
  EXPECT_EQ(differing_bits(got, by_row.read()), 0) << rows << " x " << columns;
  EXPECT_LE(worst_error(values_of(got), expected, is_bf16() ? 0.00391 : 1e-6, 1e-7), 1.0)
      << rows << " x " << columns;
}

TEST_P(Pointwise, separate_biases_are_bitwise_equal_and_right) {
  for (const std::int64_t columns : {1, 3, 8, 127, 128, 129, 384, 1024}) {
    for (const std::int64_t rows : {1, 7, 65}) {
      for (const bool relu : {false, true}) check_bias(rows, columns, relu);
    }
  }
  if (is_thorough()) {
    check_bias(2053, 4096, true);
    check_bias(8192, 3072, false);
    check_bias(70001, 16, false);  // more rows than a grid has in y
  }
}

// y [rows, columns] with `gap` elements between its rows and `shift` before the first: the bits of
// a contiguous y, and what lies between as it was.
void Pointwise::check_bias_of_rows_apart(const ops::BiasProblem& problem, std::int64_t shift,
                                         std::int64_t gap) {
  const std::int64_t stride = problem.columns + gap;
  const ops::WeightId id =
      vector(random(DType::kF32, Shape{problem.columns}), ops::VectorRole::kBias);
  const Buffer spread = random(act(), Shape{problem.rows, stride}, 2.0F);
  const auto rows_of = [&](tensor::ConstView whole) {
    return whole.slice_columns(shift, problem.columns);
  };
  Buffer packed(act(), Shape{problem.rows, problem.columns});
  copy_rows(rows_of(spread.view()), packed.view());
  Tensor plain = on_device(packed);
  backend_->add_bias(problem, id, plain.view());
  Buffer expected = copy_of(spread);
  copy_rows(plain.read().view(), expected.view().slice_columns(shift, problem.columns));

  Tensor apart = on_device(spread);
  backend_->add_bias(problem, id, apart.view().slice_columns(shift, problem.columns));
  EXPECT_EQ(differing_bits(apart.read(), expected), 0)
      << problem.rows << " x " << problem.columns << ", " << shift << " of " << gap << " before";
}

TEST_P(Pointwise, biases_of_rows_apart_have_the_bits_of_contiguous_ones) {
  for (const auto variant : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
    for (const bool relu : {false, true}) {
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{2, 1}, {7, 129}, {65, 384}, {3, 1024}}) {
        const ops::BiasProblem problem{rows, columns, relu, variant};
        check_bias_of_rows_apart(problem, 0, 1);
        check_bias_of_rows_apart(problem, 3, 5);
        check_bias_of_rows_apart(problem, columns, 2 * columns);
      }
    }
  }
}

// Canary: rows apart that are read as if they were packed give other bits.
TEST_P(Pointwise, canary_a_misread_row_stride_is_caught) {
  const ops::BiasProblem problem{16, 24, false, ops::BiasVariant::kRows2d};
  const Buffer spread = random(act(), Shape{16, 29}, 2.0F);
  const ops::WeightId id = vector(random(DType::kF32, Shape{24}), ops::VectorRole::kBias);
  Tensor right = on_device(spread);
  Tensor wrong = on_device(spread);
  const tensor::View whole = wrong.view();
  backend_->add_bias(problem, id, right.view().slice_columns(0, 24));
  backend_->add_bias(problem, id, tensor::View(whole.data(), act(), Shape{16, 24}));
  EXPECT_GT(differing_bits(right.read(), wrong.read()), 0);
}

void Pointwise::check_geglu(std::int64_t rows, std::int64_t columns, bool is_adversarial) {
  Buffer u = random(DType::kF32, Shape{rows, 2 * columns}, 4.0F);
  if (is_adversarial) make_adversarial(u);
  Tensor there = on_device(u);
  Tensor g = output(act(), Shape{rows, columns});
  backend_->geglu({rows, columns}, there.view(), g.view());
  const Values expected = reference::geglu({rows, columns}, values_of(u));
  EXPECT_LE(worst_error(values_of(g.read()), expected, is_bf16() ? 0.00393 : 8e-6, 1e-30), 1.0)
      << rows << " x " << columns;
}

TEST_P(Pointwise, geglu_agrees_with_the_reference) {
  for (const std::int64_t columns : {1, 7, 16, 127, 128, 129, 320, 331, 1152, 2624}) {
    for (const std::int64_t rows : {1, 9}) check_geglu(rows, columns, rows == 9);
  }
  if (is_thorough()) check_geglu(513, 2624, false);
}

// Canary: the halves swapped.
TEST_P(Pointwise, canary_swapped_halves_are_caught) {
  const std::int64_t columns = 32;
  const Buffer u = random(DType::kF32, Shape{2, 2 * columns}, 4.0F);
  Values swapped = values_of(u);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 32; ++c) std::swap(swapped[r * 64 + c], swapped[r * 64 + 32 + c]);
  }
  Tensor there = on_device(u);
  Tensor g = output(act(), Shape{2, columns});
  backend_->geglu({2, columns}, there.view(), g.view());
  EXPECT_GT(worst_error(values_of(g.read()), reference::geglu({2, columns}, swapped), 0.004, 1e-6),
            1.0);
}

INSTANTIATE_TEST_SUITE_P(device, Pointwise, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
