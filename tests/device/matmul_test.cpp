// The matrix product: every epilogue, tile edges, the models' depths, adversarial rows, and what is
// known of its rows: one order for every position, and, recorded, whether for every number of rows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include "tests/device/device.h"

namespace abba::device {
namespace {

namespace reference = ops::reference;
using ops::Epilogue;

class Matmul : public EveryWay {
 protected:
  Buffer multiply(const ops::MatmulProblem& problem, const Buffer& weight, const Buffer& bias,
                  const Buffer& x);
  void check(const ops::MatmulProblem& problem, bool is_adversarial = false);
  void check_model_product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                           Epilogue epilogue, bool has_bias);
};

Buffer Matmul::multiply(const ops::MatmulProblem& problem, const Buffer& weight, const Buffer& bias,
                        const Buffer& x) {
  ops::WeightId bias_id;
  if (problem.has_bias) bias_id = vector(bias, ops::VectorRole::kBias);
  const ops::MatmulId id = backend_->plan_matmul(problem, matrix(weight), bias_id);
  Tensor there = on_device(x);
  Tensor y = output(act(), Shape{problem.rows, problem.columns});
  backend_->matmul(id, there.view(), y.view());
  return y.read();
}

// The rows of `of`, [rows.size(), columns].
Values some_rows(const Values& of, std::int64_t columns, const std::vector<std::int64_t>& rows) {
  Values some;
  for (const std::int64_t row : rows) {
    some.insert(some.end(), of.begin() + row * columns, of.begin() + (row + 1) * columns);
  }
  return some;
}

// The limits: half a unit of bf16 twice for kGelu (sum and result), fp32 sums of `depth` products
// of size at most `size` in any order: added one by one, each step rounds by 3.4e-8 (rms) of a
// partial sum that grows with its root, in all 1.6e-9 times the depth at size 0.2; six times that.
// At most nine rows are compared, first and last among them.
void Matmul::check(const ops::MatmulProblem& problem, bool is_adversarial) {
  const std::int64_t outputs =
      problem.epilogue == Epilogue::kGeglu ? 2 * problem.columns : problem.columns;
  const Buffer weight = random(DType::kF32, Shape{outputs, problem.depth}, 0.2F);
  const Buffer bias = random(DType::kF32, Shape{problem.columns});
  Buffer x = random(act(), Shape{problem.rows, problem.depth});
  if (is_adversarial) make_adversarial(x);
  const Values rounded = as_act(weight);
  const std::vector<float> floats(rounded.begin(), rounded.end());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(problem.rows, 9); ++i) {
    rows.push_back(problem.rows <= 9 ? i : (problem.rows - 1) * i / 8);
  }
  ops::MatmulProblem sampled = problem;
  sampled.rows = static_cast<std::int64_t>(rows.size());
  const Values expected = reference::matmul(sampled, some_rows(values_of(x), problem.depth, rows),
                                            floats, problem.has_bias ? as_act(bias) : Values{});
  const double size = is_adversarial ? 6e3 : 0.2;
  // A gated output multiplies the error of one factor by the other one.
  const double gain = problem.epilogue == Epilogue::kGeglu ? (is_adversarial ? 1e4 : 30.0) : 2.0;
  const auto depth = static_cast<double>(problem.depth);
  const double absolute = 2e-7 * size * std::max(std::sqrt(depth), depth / 8.0) * gain;
  const double relative = !is_bf16() ? 2e-6 : problem.epilogue == Epilogue::kGelu ? 0.013 : 0.00392;
  const double rounded_argument = is_bf16() && problem.epilogue == Epilogue::kGelu ? 0.004 : 0.0;
  const Values got = values_of(multiply(problem, weight, bias, x));
  for (const double value : got) ASSERT_TRUE(std::isfinite(value)) << "an unwritten element";
  EXPECT_LE(worst_error(some_rows(got, problem.columns, rows), expected, relative,
                        absolute + rounded_argument),
            1.0)
      << problem.rows << " x " << problem.columns << " x " << problem.depth << ", epilogue "
      << static_cast<int>(problem.epilogue) << (problem.has_bias ? ", bias" : "");
}

TEST_P(Matmul, agrees_with_the_reference_around_tile_edges) {
  for (const std::int64_t rows : {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 257}) {
    for (const std::int64_t columns : {1, 2, 63, 64, 65, 127, 128, 129}) {
      check({rows, columns, 64, Epilogue::kNone, columns % 2 == 1});
    }
  }
}

TEST_P(Matmul, agrees_with_the_reference_at_every_depth_of_the_models) {
  for (const std::int64_t depth : {1, 2, 4, 63, 64, 128, 132, 256, 768, 1024, 1028, 2624, 4096}) {
    check({13, 131, depth, Epilogue::kNone, false});
  }
  check({289, 257, 97, Epilogue::kNone, true});
}

// One product of every kind the networks have, at their widths.
TEST_P(Matmul, agrees_with_the_reference_at_the_models_widths) {
  const std::vector<std::int64_t> few = {1, 48};
  const std::vector<std::int64_t> many = {1, 5, 20, 48, 64, 176, 512, 2048};
  for (const std::int64_t rows : is_thorough() ? many : few) {
    for (const std::int64_t d : is_thorough() ? std::vector<std::int64_t>{128, 768, 1024}
                                              : std::vector<std::int64_t>{128}) {
      const std::int64_t f = d == 1024 ? 2624 : d == 768 ? 1152 : 320;
      check({rows, 3 * d, d, Epilogue::kNone, false});
      check({rows, 3 * d, d, Epilogue::kNone, true});
      check({rows, d, d, Epilogue::kNone, true});
      check({rows, f, d, Epilogue::kGeglu, false});
      check({rows, d, f, Epilogue::kNone, false});
      check({rows, 4 * d, d, Epilogue::kRelu, true});
      check({rows, d, 4 * d, Epilogue::kNone, true});
      check({rows, d, d, Epilogue::kGelu, true});
      check({rows, 1, d, Epilogue::kNone, true});
      check({rows, 256, d + 4, Epilogue::kGelu, true});
      check({rows, 2, 256, Epilogue::kNone, true});
    }
  }
}

TEST_P(Matmul, every_epilogue_agrees_with_the_reference) {
  for (const Epilogue epilogue : {Epilogue::kRelu, Epilogue::kGelu, Epilogue::kGeglu}) {
    for (const std::int64_t columns : {1, 13, 64, 65, 128, 200}) {
      for (const std::int64_t rows : {1, 7, 50, 150}) {
        check({rows, columns, 96, epilogue, epilogue != Epilogue::kGeglu});
      }
    }
  }
}

TEST_P(Matmul, survives_adversarial_rows) {
  for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kRelu, Epilogue::kGeglu}) {
    check({9, 130, 320, epilogue, false}, true);
    check({64, 128, 1024, epilogue, false}, true);
  }
}

TEST_P(Matmul, weights_of_any_stored_type_are_rounded_once) {
  const Buffer floats = random(DType::kF32, Shape{5, 32}, 0.2F);
  const Buffer x = random(act(), Shape{3, 32});
  Buffer half(DType::kF16, floats.shape());
  Buffer brain(DType::kBf16, floats.shape());
  Buffer from_half(DType::kF32, floats.shape());
  Buffer from_brain(DType::kF32, floats.shape());
  base::convert(floats.as<float>(), half.as<base::F16>(), 160);
  base::convert(floats.as<float>(), brain.as<base::Bf16>(), 160);
  base::convert(half.as<base::F16>(), from_half.as<float>(), 160);
  base::convert(brain.as<base::Bf16>(), from_brain.as<float>(), 160);
  const ops::MatmulProblem problem{3, 5, 32};
  EXPECT_EQ(differing_bits(multiply(problem, half, {}, x), multiply(problem, from_half, {}, x)), 0);
  EXPECT_EQ(differing_bits(multiply(problem, brain, {}, x), multiply(problem, from_brain, {}, x)),
            0);
}

// The same row at every position of one launch, and the same launch twice: the same bits.
TEST_P(Matmul, a_row_has_the_same_bits_at_every_position) {
  if (!promises_one_row_order(*backend_)) return;
  for (const std::int64_t rows : {2, 16, 48, 129}) {
    for (const std::int64_t depth : {128, 2624}) {
      const Buffer weight = random(DType::kF32, Shape{192, depth}, 0.2F);
      const Buffer one = random(act(), Shape{1, depth});
      Buffer x(act(), Shape{rows, depth});
      for (std::int64_t r = 0; r < rows; ++r) {
        std::memcpy(x.view().slice_rows(r, 1).data(), one.view().data(), one.view().size_bytes());
      }
      const ops::MatmulProblem problem{rows, 192, depth};
      const Buffer y = multiply(problem, weight, {}, x);
      for (std::int64_t r = 1; r < rows; ++r) {
        ASSERT_EQ(std::memcmp(y.view().slice_rows(r, 1).data(), y.view().data(),
                              y.view().size_bytes() / static_cast<std::size_t>(rows)),
                  0)
            << "row " << r << " of " << rows << ", depth " << depth;
      }
      EXPECT_EQ(differing_bits(multiply(problem, weight, {}, x), y), 0) << "twice";
    }
  }
}

// Recorded, not demanded: which numbers of rows change a row's bits against one row alone. What
// head_last_layer = marker_rows and batch invariance rest on; the levels' own class is tolerance.
TEST_P(Matmul, record_of_numbers_of_rows_that_change_a_row) {
  for (const auto& [columns, depth] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {384, 128}, {3072, 1024}, {1024, 1024}, {1024, 2624}, {1024, 4096}}) {
    if (!is_thorough() && columns > 384) continue;
    const Buffer weight = random(DType::kF32, Shape{columns, depth}, 0.2F);
    const ops::WeightId id = matrix(weight);
    Tensor x = on_device(random(act(), Shape{512, depth}));
    const auto product = [&](std::int64_t rows) {
      Tensor y = output(act(), Shape{rows, columns});
      backend_->matmul(backend_->plan_matmul({rows, columns, depth}, id, {}),
                       x.view().slice_rows(0, rows), y.view());
      return y.read();
    };
    const Buffer alone = product(1);
    std::string changed;
    for (const std::int64_t rows : {2, 3, 4, 5, 8, 16, 20, 32, 48, 64, 128, 176, 256, 464, 512}) {
      const bool same = std::memcmp(product(rows).view().data(), alone.view().data(),
                                    alone.view().size_bytes()) == 0;
      if (!same) changed += (changed.empty() ? "" : " ") + std::to_string(rows);
    }
    std::cout << "record: " << name_of(GetParam()) << " product N " << columns << " K " << depth
              << ": numbers of rows that change row 0: " << (changed.empty() ? "none" : changed)
              << "\n";
    RecordProperty("N" + std::to_string(columns) + "_K" + std::to_string(depth), changed);
  }
}

// bias = epilogue is an fp32 add to the unrounded accumulator, then one rounding: integers make the
// product exact, so the expected bits are known.
TEST_P(Matmul, the_epilogue_rounds_once) {
  const std::int64_t depth = 256;
  const auto integer = [&] { return static_cast<float>(random_.below(15)) - 7.0F; };
  Buffer weight(DType::kF32, Shape{40, depth});
  Buffer x = random(act(), Shape{11, depth});
  for (std::int64_t i = 0; i < 40 * depth; ++i) weight.as<float>()[i] = integer();
  for (std::int64_t i = 0; i < 11 * depth; ++i) {
    if (is_bf16()) {
      x.as<base::Bf16>()[i] = base::to_bf16(integer());
    } else {
      x.as<float>()[i] = integer();
    }
  }
  const Buffer bias = random(DType::kF32, Shape{40});
  const Buffer y = multiply({11, 40, depth, Epilogue::kNone, true}, weight, bias, x);
  const Buffer product = multiply({11, 40, depth, Epilogue::kNone, false}, weight, bias, x);
  const std::vector<float> floats(weight.as<float>(), weight.as<float>() + 40 * depth);
  const Values exact =
      reference::matmul({11, 40, depth, Epilogue::kNone, false}, values_of(x), floats, {});
  Values once = exact;
  Values twice = values_of(product);
  for (std::size_t i = 0; i < once.size(); ++i) {
    const double b = as_act(bias)[i % 40];
    once[i] = static_cast<float>(once[i]) + static_cast<float>(b);
    if (is_bf16()) once[i] = reference::round_bf16(once[i]);
    twice[i] = reference::round_bf16(twice[i] + b);
  }
  EXPECT_EQ(values_of(y), once);
  if (is_bf16()) {
    EXPECT_NE(twice, once);  // canary: two roundings are another level
  }
}

// Canary: one weight half as large again in a product of depth 8 is caught.
TEST_P(Matmul, canary_one_wrong_weight_is_caught) {
  const Buffer weight = random(DType::kF32, Shape{3, 8}, 0.2F);
  const Buffer x = random(act(), Shape{2, 8});
  const Values rounded = as_act(weight);
  std::vector<float> wrong(rounded.begin(), rounded.end());
  wrong[5] *= 1.5F;
  const ops::MatmulProblem problem{2, 3, 8};
  const Buffer y = multiply(problem, weight, {}, x);
  EXPECT_GT(
      worst_error(values_of(y), reference::matmul(problem, values_of(x), wrong, {}), 0.004, 1e-6),
      1.0);
}

// Canary: the sum in two halves (what split-K does) is other bits, and comparing bits shows it.
TEST_P(Matmul, canary_a_sum_in_two_halves_has_other_bits) {
  const std::int64_t depth = 1024;
  const Buffer weight = random(DType::kF32, Shape{64, depth}, 1.0F);
  const Buffer x = random(act(), Shape{33, depth});
  const auto half_of = [&](const Buffer& whole, std::int64_t first) {
    Buffer half(whole.dtype(), Shape{whole.view().rows(), depth / 2});
    const std::size_t size = tensor::size_bytes_of(whole.dtype());
    for (std::int64_t r = 0; r < whole.view().rows(); ++r) {
      std::memcpy(half.view().slice_rows(r, 1).data(),
                  static_cast<const std::byte*>(whole.view().data()) +
                      static_cast<std::size_t>(r * depth + first) * size,
                  static_cast<std::size_t>(depth / 2) * size);
    }
    return half;
  };
  const Values whole = values_of(multiply({33, 64, depth}, weight, {}, x));
  const ops::MatmulProblem half{33, 64, depth / 2};
  Values sum = values_of(multiply(half, half_of(weight, 0), {}, half_of(x, 0)));
  const Values rest = values_of(multiply(half, half_of(weight, depth / 2), {}, half_of(x, 512)));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = static_cast<float>(sum[i] + rest[i]);
    if (is_bf16()) sum[i] = reference::round_bf16(sum[i]);
  }
  EXPECT_NE(sum, whole);
  EXPECT_LE(worst_error(sum, whole, is_bf16() ? 0.02 : 2e-5, is_bf16() ? 0.3 : 1e-4), 1.0);
}

INSTANTIATE_TEST_SUITE_P(device, Matmul, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
