// The suite itself: is there a GPU where one is demanded, and do its instruments notice anything?
#include <gtest/gtest-spi.h>

#include <cmath>

#include "tests/device/device.h"

namespace abba::device {
namespace {

TEST(Suite, a_gpu_answers_where_one_is_required) {
  if (why_no_cuda().empty()) return;
  if (is_cuda_required()) FAIL() << "ABBA_REQUIRE_CUDA=1, but " << why_no_cuda();
  GTEST_SKIP() << why_no_cuda();
}

class Instruments : public EveryWay {};

TEST_P(Instruments, tensors_come_back_as_they_went) {
  for (const DType dtype : {DType::kF32, act()}) {
    for (const std::int64_t rows : {1, 3, 257}) {
      const Buffer values = random(dtype, Shape{rows, 7}, 3e4F);
      Tensor there = on_device(values);
      EXPECT_EQ(differing_bits(there.read(), values), 0);
      // As floats: a NaN's payload is nothing that a conversion must keep.
      const Values poison = values_of(output(dtype, Shape{rows, 7}).read());
      for (const double value : poison) EXPECT_NE(value, value) << "not poisoned";
    }
  }
}

// Canary: one element beyond the end, and one before the start.
TEST_P(Instruments, canary_a_write_outside_a_tensor_is_caught) {
  for (const std::int64_t offset : {-4, 20}) {
    Tensor tensor = output(DType::kF32, Shape{5});
    const float value = 1.0F;
    backend_->upload(
        &value, {static_cast<std::byte*>(tensor.view().data()) + offset, DType::kF32, Shape{1}});
    const auto read = [&] { static_cast<void>(tensor.read()); };
    EXPECT_NONFATAL_FAILURE(read(), "something wrote");
  }
}

// Canary: an output that nobody wrote, or that holds one NaN, is never close to anything.
TEST_P(Instruments, canary_an_unwritten_element_is_caught) {
  const Values expected(6, 0.5);
  Tensor tensor = output(act(), Shape{6});
  EXPECT_GT(worst_error(values_of(tensor.read()), expected, 1e9, 1e9), 1.0);
  Buffer almost = random(act(), Shape{6});
  if (is_bf16()) {
    almost.as<base::Bf16>()[3] = base::to_bf16(NAN);
  } else {
    almost.as<float>()[3] = NAN;
  }
  EXPECT_GT(worst_error(values_of(almost), expected, 1e9, 1e9), 1.0);
  Buffer other = copy_of(almost);
  if (is_bf16()) {
    other.as<base::Bf16>()[5] = base::to_bf16(7.0F);
  } else {
    other.as<float>()[5] = 7.0F;
  }
  EXPECT_EQ(differing_bits(almost, other), 1);
}

INSTANTIATE_TEST_SUITE_P(device, Instruments, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
