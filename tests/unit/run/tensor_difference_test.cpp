#include "harness/run/tensor_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace abba::run {
namespace {

record::OutputTensor tensor(std::vector<float> values, const std::string& dtype = "F32") {
  record::OutputTensor made;
  made.dtype = dtype;
  made.shape = {static_cast<std::int64_t>(values.size())};
  made.values = std::move(values);
  return made;
}

TEST(TensorDifference, measures_by_hand_worked_values) {
  const auto apart = difference(tensor({3.0F, 4.5F}), tensor({3.0F, 4.0F}));
  EXPECT_TRUE(apart.comparable);
  EXPECT_DOUBLE_EQ(apart.max_abs, 0.5);
  EXPECT_DOUBLE_EQ(apart.nrms, 0.1);  // 0.5 / sqrt(9 + 16)
  EXPECT_EQ(apart.first_divergence, "[1]: 4.5 against 4");
  EXPECT_DOUBLE_EQ(apart.ulp, 0x1p20);  // 2^-1 in steps of 2^-21
}

TEST(TensorDifference, counts_steps_across_zero_and_of_the_dtype) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_DOUBLE_EQ(difference(tensor({tiny}), tensor({-tiny})).ulp, 2);
  EXPECT_DOUBLE_EQ(difference(tensor({1.0078125F}, "BF16"), tensor({1.0F}, "BF16")).ulp, 1);
}

TEST(TensorDifference, nan_equals_only_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(difference(tensor({nan, 1}), tensor({nan, 1})).max_abs, 0);
  EXPECT_TRUE(std::isinf(difference(tensor({nan}), tensor({1})).max_abs));
  EXPECT_TRUE(std::isinf(difference(tensor({1}), tensor({nan})).nrms));
}

TEST(TensorDifference, shapes_and_missing_values_are_not_comparable) {
  EXPECT_FALSE(difference(tensor({1}), tensor({1, 2})).comparable);
  EXPECT_FALSE(difference(tensor({}), tensor({})).comparable);
  EXPECT_FALSE(difference(tensor({1}, "BF16"), tensor({1})).comparable);
}

TEST(TensorDifference, locates_by_shape) {
  auto a = tensor({1, 2, 3, 4, 5, 6});
  auto b = tensor({1, 2, 3, 4, 7, 6});
  a.shape = b.shape = {2, 3};
  EXPECT_EQ(difference(a, b).first_divergence, "[1, 1]: 5 against 7");
}

}  // namespace
}  // namespace abba::run
