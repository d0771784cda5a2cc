// The attention launchers themselves: every tile gives the same bits in one launch, empty problems
// launch nothing, lengths out of range are clamped.
#include "engine/cuda/kernels/attention_wrapper.h"
#include "tests/device/launcher.h"

namespace abba::device {
namespace {

using ops::AttentionProblem;
using ops::SubsetAttentionProblem;

constexpr std::int64_t kHeads = kLauncherHeads;
constexpr std::int64_t kWidth = kLauncherWidth;

TEST_P(AttentionLaunch, every_tile_gives_the_same_bits_in_one_launch) {
  for (const std::int64_t window : {ops::kFullAttention, std::int64_t{64}}) {
    for (const std::int64_t length : {1, 17, 64, 65, 130, 257, 300, 700}) {
      const AttentionProblem problem{2, length, kHeads, window};
      const Uploaded qkv{random(act(), Shape{2 * length, 3 * kWidth}, 2.0F)};
      const Uploaded counts{integers(ragged_lengths(2, length))};
      std::vector<Buffer> results;
      for (const cuda::AttentionTile tile : kTiles) {
        const std::int64_t before = state_.launches;
        results.push_back(run(2 * length, [&](void* out) {
          cuda::launch_attention(problem, qkv.data(), counts.integers(), out, context(), tile);
        }));
        EXPECT_EQ(state_.launches, before + 1);
      }
      EXPECT_EQ(differing_bits(results[0], results[1]), 0) << length << ", window " << window;
      EXPECT_EQ(differing_bits(results[0], results[2]), 0) << length << ", window " << window;
    }
  }
}

TEST_P(AttentionLaunch, empty_problems_launch_nothing) {
  cuda::launch_attention(AttentionProblem{0, 5, kHeads}, nullptr, nullptr, nullptr, context());
  cuda::launch_attention(AttentionProblem{2, 0, kHeads}, nullptr, nullptr, nullptr, context());
  cuda::launch_attention(AttentionProblem{2, 5, 0}, nullptr, nullptr, nullptr, context());
  cuda::launch_attention(SubsetAttentionProblem{2, 0, 5, kHeads}, nullptr, nullptr, nullptr,
                         nullptr, context());
  cuda::AttentionWrapper wrapper(0);
  wrapper.attend(AttentionProblem{0, 5, kHeads}, {}, {}, {}, {}, nullptr, context());
  EXPECT_EQ(state_.launches, 0);
  EXPECT_EQ(wrapper.copies(), 0);
}

// Lengths that no caller may pass read nothing out of bounds.
TEST_P(AttentionLaunch, lengths_out_of_range_are_clamped) {
  const AttentionProblem problem{3, 70, kHeads};
  const Uploaded qkv{random(act(), Shape{210, 3 * kWidth})};
  const auto with = [&](const Lengths& lengths) {
    const Uploaded counts{integers(lengths)};
    return run(210, [&](void* out) {
      cuda::launch_attention(problem, qkv.data(), counts.integers(), out, context());
    });
  };
  EXPECT_EQ(differing_bits(with({-5, 71, 1 << 30}), with({0, 70, 70})), 0);
  EXPECT_GT(differing_bits(with({0, 70, 70}), with({0, 70, 69})), 0);
}

INSTANTIATE_TEST_SUITE_P(device, AttentionLaunch, testing::ValuesIn(cuda_ways()), way_name);

}  // namespace
}  // namespace abba::device
