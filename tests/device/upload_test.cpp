// A group of uploads: the sources may go at once, the staging block may not be written while a copy
// still reads it; groups follow one another without a wait between.
#include <algorithm>
#include <vector>

#include "tests/device/device.h"

namespace abba::device {
namespace {

constexpr std::int64_t kFirst = 4096;   // elements of the first tensor of a group
constexpr std::int64_t kSecond = 1000;  // of the second, which begins at kSecondAt
constexpr std::int64_t kSecondAt = 8192;

class Upload : public EveryWay {
 protected:
  void send(const Buffer& first, const Buffer& second, Tensor& to) {
    const tensor::View all = to.view();
    const ops::Transfer group[] = {{first.view().data(), all.slice_columns(0, kFirst)},
                                   {second.view().data(), all.slice_columns(kSecondAt, kSecond)}};
    backend_->upload_all(group);
  }
  static void expect_arrived(Tensor& to, const Buffer& first, const Buffer& second) {
    const Buffer all = to.read();
    const float* read = all.as<float>();
    EXPECT_TRUE(std::equal(first.as<float>(), first.as<float>() + kFirst, read));
    EXPECT_TRUE(std::equal(second.as<float>(), second.as<float>() + kSecond, read + kSecondAt));
  }
};

TEST_P(Upload, the_sources_of_a_group_may_go_at_once) {
  backend_->plan_upload((kSecondAt + kSecond) * sizeof(float));
  for (int round = 0; round < 20; ++round) {
    Buffer first = random(DType::kF32, Shape{kFirst});
    Buffer second = random(DType::kF32, Shape{kSecond});
    const Buffer kept_first = copy_of(first);
    const Buffer kept_second = copy_of(second);
    Tensor to = output(DType::kF32, Shape{kSecondAt + kSecond});
    send(first, second, to);
    first.poison();
    second.poison();
    expect_arrived(to, kept_first, kept_second);
  }
}

TEST_P(Upload, groups_one_after_another_do_not_write_into_each_others_staging) {
  backend_->plan_upload((kSecondAt + kSecond) * sizeof(float));
  std::vector<Buffer> firsts;
  std::vector<Buffer> seconds;
  std::vector<Tensor> targets;
  for (int i = 0; i < 16; ++i) {
    firsts.push_back(random(DType::kF32, Shape{kFirst}));
    seconds.push_back(random(DType::kF32, Shape{kSecond}));
    targets.push_back(output(DType::kF32, Shape{kSecondAt + kSecond}));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) send(firsts[i], seconds[i], targets[i]);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    expect_arrived(targets[i], firsts[i], seconds[i]);
  }
}

TEST_P(Upload, canary_another_value_is_not_taken_for_the_one_that_was_sent) {
  backend_->plan_upload((kSecondAt + kSecond) * sizeof(float));
  Buffer first = random(DType::kF32, Shape{kFirst});
  const Buffer second = random(DType::kF32, Shape{kSecond});
  Tensor to = output(DType::kF32, Shape{kSecondAt + kSecond});
  send(first, second, to);
  const Buffer all = to.read();
  first.as<float>()[kFirst - 1] += 1.0F;
  EXPECT_FALSE(std::equal(first.as<float>(), first.as<float>() + kFirst, all.as<float>()));
}

INSTANTIATE_TEST_SUITE_P(device, Upload, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
