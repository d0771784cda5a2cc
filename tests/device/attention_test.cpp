// Attention against the double reference at tile and window edges, ragged and adversarial; the
// named comparisons of chosen rows with all rows; an explicit mask; windows with a huge value just
// inside and just outside.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/device/attention_inputs.h"

namespace abba::device {
namespace {

using ops::AttentionOutput;
using ops::AttentionProblem;
using ops::kFullAttention;
using ops::SubsetAttentionProblem;

constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kHidden = kHeads * ops::kHeadDim;
constexpr AttentionOutput kLayouts[] = {AttentionOutput::kHeadMajor, AttentionOutput::kRowMajor};

class Attention : public AttentionWay {
 protected:
  Buffer qkv(std::int64_t batch, std::int64_t length, float scale = 2.0F) {
    return random(act(), Shape{batch * length, 3 * kHidden}, scale);
  }
  // Against the reference, and the other layout bit for bit.
  void check(AttentionProblem problem, const Buffer& input, double more = 0.0);
  void compare_subset(std::int64_t batch, std::int64_t keys, const std::vector<std::int64_t>& rows);
};

void Attention::check(AttentionProblem problem, const Buffer& input, double more) {
  const Lengths lengths = ragged_lengths(problem.batch, problem.length);
  problem.layout = AttentionOutput::kRowMajor;
  const Buffer out = attend(problem, input, lengths);
  EXPECT_LE(error(out, problem, input, lengths, more), 1.0)
      << problem.batch << " x " << problem.length << ", window " << problem.half_window;
  problem.layout = AttentionOutput::kHeadMajor;
  EXPECT_EQ(differing_bits(attend(problem, input, lengths), out), 0);
}

TEST_P(Attention, agrees_with_the_reference_at_every_tile_and_window_edge) {
  std::vector<std::int64_t> lengths = {1,  2,  3,  15, 16, 17,  31,  32,  33,  37,
                                       63, 64, 65, 66, 97, 127, 128, 129, 130, 131};
  if (is_thorough()) {
    for (const std::int64_t more : {191, 192, 193, 211, 255, 256, 257, 319, 320, 321, 509, 512, 513,
                                    704, 769, 1021, 1023, 1024}) {
      lengths.push_back(more);
    }
  }
  for (const std::int64_t window : {kFullAttention, std::int64_t{64}}) {
    for (const std::int64_t length : lengths) {
      check({1, length, kHeads, window}, qkv(1, length));
      if (length <= 257) check({3, length, kHeads, window}, qkv(3, length));
    }
  }
}

TEST_P(Attention, agrees_at_other_windows_and_at_the_models_shapes) {
  for (const std::int64_t window : {0, 1, 15, 63, 65, 128}) {
    check({2, 150, kHeads, window}, qkv(2, 150));
  }
  if (!is_thorough()) return;
  for (const std::int64_t window : {kFullAttention, std::int64_t{64}}) {
    for (const auto& [batch, length] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 48}, {8, 187}, {12, 257}}) {
      const AttentionProblem problem{batch, length, 16, window};
      const Buffer input = random(act(), Shape{batch * length, 3 * 16 * 64}, 2.0F);
      const Lengths lengths = ragged_lengths(batch, length);
      EXPECT_LE(error(attend(problem, input, lengths), problem, input, lengths), 1.0);
    }
  }
}

TEST_P(Attention, survives_adversarial_rows) {
  for (const std::int64_t window : {kFullAttention, std::int64_t{64}}) {
    Buffer input = qkv(2, 150);
    make_adversarial(input);
    // Scores near 4e3 carry fp32 errors of 2e-4 into the exponent.
    check({2, 150, kHeads, window}, input, 0.004);
  }
}

TEST_P(Attention, equal_scores_give_the_mean_of_the_values) {
  Buffer input = qkv(1, 200);
  for (std::int64_t i = 0; i < 200 * kHidden; ++i) set(input, i / kHidden, i % kHidden, 0.0F);
  check({1, 200, kHeads}, input);
  check({1, 200, kHeads, 64}, input);
}

void Attention::compare_subset(std::int64_t batch, std::int64_t keys,
                               const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const Lengths lengths = ragged_lengths(batch, keys);
  const Buffer input = qkv(batch, keys);
  const Buffer q = queries_of(input, batch, rows);
  const Buffer kv = keys_and_values_of(input);
  for (const AttentionOutput layout : kLayouts) {
    const Buffer all =
        attend(AttentionProblem{batch, keys, kHeads, kFullAttention, layout}, input, lengths);
    const SubsetAttentionProblem problem{batch, count, keys, kHeads, layout};
    const Buffer some = attend(problem, q, kv, lengths);
    std::int64_t compared = 0;
    for (std::int64_t i = 0; i < batch * count; ++i) {
      const std::int64_t b = i / count;
      const std::int64_t row = rows[static_cast<std::size_t>(i % count)];
      if (row >= lengths[static_cast<std::size_t>(b)]) continue;
      ++compared;
      ASSERT_EQ(differing_bits(rows_of(some, i, 1), rows_of(all, b * keys + row, 1)), 0)
          << batch << " x " << keys << ", query " << i << " of " << count;
    }
    EXPECT_GE(compared, batch);
    // The mask written out, for every query, padding among them.
    std::vector<bool> mask;
    for (std::int64_t i = 0; i < batch * count * keys; ++i) {
      mask.push_back(i % keys < lengths[static_cast<std::size_t>(i / keys / count)]);
    }
    const Values expected = attention_by_mask(problem, values_of(q), values_of(kv), mask);
    EXPECT_LE(worst_error(values_of(some), expected, relative(), absolute()), 1.0);
  }
}

TEST_P(Attention, chosen_rows_have_the_bits_of_all_rows_and_follow_the_mask) {
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t keys : {37, 64, 704}) {
      if (keys > 64 && !is_thorough()) continue;
      std::vector<std::int64_t> all;
      for (std::int64_t i = 0; i < keys; ++i) all.push_back(i);
      compare_subset(batch, keys, all);
      compare_subset(batch, keys, {0});
      compare_subset(batch, keys, {0, keys - 1});
      compare_subset(batch, keys, {0, 11, 5});
    }
  }
}

TEST_P(Attention, one_query_over_padded_keys_sees_the_real_ones_alone) {
  const Buffer input = qkv(2, 90);
  const Buffer q = queries_of(input, 2, {4});
  const Buffer kv = keys_and_values_of(input);
  const SubsetAttentionProblem problem{2, 1, 90, kHeads};
  const Values computed = values_of(attend(problem, q, kv, {90, 13}));
  const auto expected = [&](const Lengths& lengths) {
    return ops::reference::attention(problem, values_of(q), values_of(kv), lengths);
  };
  EXPECT_LE(worst_error(computed, expected({90, 13}), relative(), absolute()), 1.0);
  // Negative control: lengths ignored.
  EXPECT_GT(worst_error(computed, expected({90, 90}), relative(), absolute()), 1.0);
}

// One value of v at key j, far larger than all others, changes exactly the rows within the window.
TEST_P(Attention, a_huge_value_is_seen_up_to_the_windows_edge_and_not_beyond) {
  for (const std::int64_t length : {66, 130}) {
    for (const std::int64_t key : {std::int64_t{0}, std::int64_t{65}, length - 1}) {
      const AttentionProblem problem{1, length, kHeads, 64};
      Buffer input = qkv(1, length, 1.0F);
      const Lengths lengths = {static_cast<std::int32_t>(length)};
      const Buffer before = attend(problem, input, lengths);
      set(input, key, 2 * kHidden + 7, 3e4F);
      const Buffer after = attend(problem, input, lengths);
      std::int64_t hidden_rows = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const bool is_seen = std::abs(i - key) <= 64;
        hidden_rows += is_seen ? 0 : 1;
        ASSERT_EQ(differing_bits(rows_of(before, i, 1), rows_of(after, i, 1)) != 0, is_seen)
            << "row " << i << " of " << length << ", key " << key;
      }
      EXPECT_GT(hidden_rows, 0);
    }
  }
}

// Canaries: a window off by one either way and a rotated v must not pass.
TEST_P(Attention, canary_wrong_windows_and_rotated_values_are_caught) {
  const AttentionProblem problem{1, 150, kHeads, 64};
  const Buffer input = qkv(1, 150);
  const Buffer out = attend(problem, input, {150});
  EXPECT_LE(error(out, problem, input, {150}), 1.0);
  EXPECT_GT(error(out, {1, 150, kHeads, 63}, input, {150}), 1.0);
  EXPECT_GT(error(out, {1, 150, kHeads, 65}, input, {150}), 1.0);
  EXPECT_GT(error(out, problem, input, {149}), 1.0);
  Buffer rotated = copy_of(input);
  for (std::int64_t r = 0; r < 150; ++r) {
    for (std::int64_t c = 0; c < kHidden; ++c) {
      const Values row = values_of(rows_of(input, r, 1));
      set(rotated, r, 2 * kHidden + c,
          static_cast<float>(row[static_cast<std::size_t>(2 * kHidden + (c + 1) % kHidden)]));
    }
  }
  EXPECT_GT(error(out, problem, rotated, {150}), 1.0);
}

INSTANTIATE_TEST_SUITE_P(device, Attention, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
