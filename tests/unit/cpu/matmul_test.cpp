#include <cmath>

#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

namespace reference = ops::reference;
using ops::Epilogue;

class Matmul : public EveryWay {
 protected:
  Buffer multiply(const ops::MatmulProblem& problem, const Buffer& weight, const Buffer& bias,
                  const Buffer& x);
  void check(const ops::MatmulProblem& problem, bool is_adversarial = false);
};

Buffer Matmul::multiply(const ops::MatmulProblem& problem, const Buffer& weight, const Buffer& bias,
                        const Buffer& x) {
  ops::WeightId bias_id;
  if (problem.has_bias) bias_id = vector(bias, ops::VectorRole::kBias);
  const ops::MatmulId id = backend_->plan_matmul(problem, matrix(weight), bias_id);
  Buffer y = output(act(), Shape{problem.rows, problem.columns});
  backend_->matmul(id, x.view(), y.view());
  return y;
}

// The limits: half a unit of bf16 twice for kGelu (sum and result), fp32 sums of `depth` products
// of size at most `size` in any order.
void Matmul::check(const ops::MatmulProblem& problem, bool is_adversarial) {
  const std::int64_t outputs =
      problem.epilogue == Epilogue::kGeglu ? 2 * problem.columns : problem.columns;
  const Buffer weight = random(DType::kF32, Shape{outputs, problem.depth}, 0.2F);
  const Buffer bias = random(DType::kF32, Shape{problem.columns});
  Buffer x = random(act(), Shape{problem.rows, problem.depth});
  if (is_adversarial) make_adversarial(x);
  const Values rounded = as_act(weight);
  const std::vector<float> floats(rounded.begin(), rounded.end());
  const Values expected =
      reference::matmul(problem, values_of(x), floats, problem.has_bias ? as_act(bias) : Values{});
  const double size = is_adversarial ? 6e3 : 0.2;
  // A gated output multiplies the error of one factor by the other one.
  const double gain = problem.epilogue == Epilogue::kGeglu ? (is_adversarial ? 1e4 : 30.0) : 2.0;
  const double absolute = 2e-7 * size * std::sqrt(static_cast<double>(problem.depth)) * gain;
  const double relative = !is_bf16() ? 2e-6 : problem.epilogue == Epilogue::kGelu ? 0.013 : 0.00392;
  const double rounded_argument = is_bf16() && problem.epilogue == Epilogue::kGelu ? 0.004 : 0.0;
  const Buffer y = multiply(problem, weight, bias, x);
  EXPECT_LE(worst_error(values_of(y), expected, relative, absolute + rounded_argument), 1.0)
      << problem.rows << " x " << problem.columns << " x " << problem.depth << ", epilogue "
      << static_cast<int>(problem.epilogue);
}

TEST_P(Matmul, agrees_with_the_reference_around_tile_edges) {
  for (const std::int64_t rows : {1, 2, 5, 6, 7, 47, 48, 49, 143, 144, 145}) {
    for (const std::int64_t columns : {1, 2, 63, 64, 65, 127, 128, 129}) {
      check({rows, columns, 67, Epilogue::kNone, columns % 2 == 1});
    }
  }
}

TEST_P(Matmul, agrees_with_the_reference_at_every_depth_of_the_models) {
  for (const std::int64_t depth : {1, 64, 128, 256, 768, 1024, 1028, 2624, 4096}) {
    check({13, 131, depth, Epilogue::kNone, false});
  }
  check({289, 257, 97, Epilogue::kNone, true});
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

// The rows of a product do not depend on how many there are or where they lie: what makes
// head_last_layer = marker_rows and batches of any size bitwise on this product path.
class MatmulOfRows : public Matmul {};

TEST_P(MatmulOfRows, a_row_has_the_same_bits_for_every_number_of_rows) {
  const std::int64_t most = 301;
  const std::int64_t columns = 130;
  const std::int64_t depth = 96;
  const Buffer weight = random(DType::kF32, Shape{columns, depth}, 0.2F);
  const ops::WeightId id = matrix(weight);
  const Buffer x = random(act(), Shape{most, depth});
  const auto product = [&](std::int64_t first, std::int64_t count) {
    Buffer y = output(act(), Shape{count, columns});
    backend_->matmul(backend_->plan_matmul({count, columns, depth}, id, {}),
                     x.view().slice_rows(first, count), y.view());
    return y;
  };
  const Values all = values_of(product(0, most));
  for (std::int64_t count = 1; count < most; count += count < 20 ? 1 : 7) {
    const std::int64_t first = (most - count) / 3;
    const Values some = values_of(product(first, count));
    const auto from = all.begin() + first * columns;
    ASSERT_TRUE(std::equal(some.begin(), some.end(), from)) << count << " rows";
  }
}

// bias = epilogue is an fp32 add to the unrounded accumulator, then one rounding: integers make the
// product exact, so the expected bits are known.
TEST_P(Matmul, the_epilogue_rounds_once) {
  const std::int64_t depth = 256;
  Buffer weight(DType::kF32, Shape{40, depth});
  Buffer x = random(act(), Shape{11, depth});
  const auto integer = [&] { return static_cast<float>(random_.below(15)) - 7.0F; };
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

// Canary: one weight off by one unit of bf16 in a product of depth 64 is caught.
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

INSTANTIATE_TEST_SUITE_P(cpu, Matmul, testing::ValuesIn(ways()), way_name);
INSTANTIATE_TEST_SUITE_P(cpu, MatmulOfRows, testing::ValuesIn(ways_with_one_row_order()), way_name);

TEST(MatmulThreads, one_and_two_threads_give_the_same_bits) {
  base::Random random(5);
  Buffer weight(DType::kF32, Shape{600, 320});
  for (std::int64_t i = 0; i < 600 * 320; ++i) {
    weight.as<float>()[i] = random.uniform_float(-1.0F, 1.0F);
  }
  Buffer x(DType::kBf16, Shape{200, 320});
  for (std::int64_t i = 0; i < 200 * 320; ++i) {
    x.as<base::Bf16>()[i] = base::to_bf16(random.uniform_float(-1.0F, 1.0F));
  }
  std::vector<Buffer> results;
  for (const int threads : {1, 2}) {
    const auto backend = backend_of({Precision::kBf16, Isa::kAvx2, ProductPath::kWidened, threads});
    Buffer y(DType::kBf16, Shape{200, 300});
    y.poison();
    const auto id = backend->plan_matmul({200, 300, 320, Epilogue::kGeglu, false},
                                         backend->prepare_matrix("w", weight.view()), {});
    backend->matmul(id, x.view(), y.view());
    results.push_back(std::move(y));
  }
  EXPECT_EQ(differing_bits(results[0], results[1]), 0);
}

}  // namespace
}  // namespace abba::cpu
