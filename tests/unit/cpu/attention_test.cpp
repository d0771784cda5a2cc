#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

namespace reference = ops::reference;
using ops::AttentionOutput;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHidden = kHeads * ops::kHeadDim;

// Ragged: all keys, then fewer, then a third.
std::vector<std::int32_t> ragged(std::int64_t batch, std::int64_t length) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t real = b == 0 ? length : b == 1 ? length - length / 7 : (length + 2) / 3;
    lengths.push_back(static_cast<std::int32_t>(real));
  }
  return lengths;
}

class Attention : public EveryWay {
 protected:
  // [batch * rows, hidden], row_major; head_major results are transposed by the backend.
  Buffer attend(ops::AttentionProblem problem, const Buffer& qkv,
                const std::vector<std::int32_t>& lengths, AttentionOutput layout);
  Buffer attend(ops::SubsetAttentionProblem problem, const Buffer& q, const Buffer& kv,
                const std::vector<std::int32_t>& lengths, AttentionOutput layout);
  Buffer transposed(const Buffer& by_head, std::int64_t batch, std::int64_t rows);
  void check(const ops::AttentionProblem& problem, bool is_adversarial);
  void check_subset(std::int64_t batch, std::int64_t keys, std::int64_t queries);
  // bf16: weights and output rounded; the rounding of a weight is relative to the values it weighs.
  [[nodiscard]] double relative() const { return is_bf16() ? 0.004 : 1e-5; }
  [[nodiscard]] double absolute() const { return is_bf16() ? 0.004 : 1e-5; }
};

Buffer Attention::transposed(const Buffer& by_head, std::int64_t batch, std::int64_t rows) {
  Buffer by_row = output(act(), Shape{batch * rows, kHidden});
  backend_->transpose_heads({batch, rows, kHeads}, by_head.view(), by_row.view());
  return by_row;
}

Buffer Attention::attend(ops::AttentionProblem problem, const Buffer& qkv,
                         const std::vector<std::int32_t>& lengths, AttentionOutput layout) {
  problem.layout = layout;
  Buffer out = output(act(), Shape{problem.batch * problem.length, kHidden});
  backend_->plan_attention(problem);
  backend_->attention(problem, qkv.view(), integers(lengths).view(), out.view());
  if (layout == AttentionOutput::kRowMajor) return out;
  return transposed(out, problem.batch, problem.length);
}

Buffer Attention::attend(ops::SubsetAttentionProblem problem, const Buffer& q, const Buffer& kv,
                         const std::vector<std::int32_t>& lengths, AttentionOutput layout) {
  problem.layout = layout;
  Buffer out = output(act(), Shape{problem.batch * problem.queries, kHidden});
  backend_->plan_attention(problem);
  backend_->attention(problem, q.view(), kv.view(), integers(lengths).view(), out.view());
  if (layout == AttentionOutput::kRowMajor) return out;
  return transposed(out, problem.batch, problem.queries);
}

// Rows of real queries; the others are only required to be finite, and here made equal.
Values real_rows(Values values, const ops::AttentionProblem& problem,
                 const std::vector<std::int32_t>& lengths) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / kHidden;
    const auto b = static_cast<std::size_t>(row / problem.length);
    if (row % problem.length >= lengths[b] && std::isfinite(values[i])) values[i] = 0.0;
  }
  return values;
}

void Attention::check(const ops::AttentionProblem& problem, bool is_adversarial) {
  Buffer qkv = random(act(), Shape{problem.batch * problem.length, 3 * kHidden}, 2.0F);
  if (is_adversarial) make_adversarial(qkv);
  const auto lengths = ragged(problem.batch, problem.length);
  const Values expected =
      real_rows(reference::attention(problem, values_of(qkv), lengths), problem, lengths);
  const Buffer out = attend(problem, qkv, lengths, AttentionOutput::kRowMajor);
  // Scores near 4e3 carry fp32 errors of 2e-4 into the exponent.
  const double limit = is_adversarial ? absolute() + 0.004 : absolute();
  EXPECT_LE(worst_error(real_rows(values_of(out), problem, lengths), expected, relative(), limit),
            1.0)
      << problem.batch << " x " << problem.length << ", window " << problem.half_window;
  EXPECT_EQ(differing_bits(out, attend(problem, qkv, lengths, AttentionOutput::kHeadMajor)), 0);
}

TEST_P(Attention, agrees_with_the_reference_around_tile_and_window_edges) {
  for (const std::int64_t window : {ops::kFullAttention, std::int64_t{64}}) {
    for (const std::int64_t length :
         {1, 2, 5, 6, 7, 15, 16, 17, 31, 33, 64, 65, 66, 97, 129, 131}) {
      check({1, length, kHeads, window}, false);
    }
    check({3, 97, kHeads, window}, false);
    check({3, 211, kHeads, window}, false);
    check({1, 704, kHeads, window}, false);
  }
}

TEST_P(Attention, survives_adversarial_rows) {
  check({2, 37, kHeads, ops::kFullAttention}, true);
  check({2, 150, kHeads, 64}, true);
}

TEST_P(Attention, equal_scores_give_the_mean_of_the_values) {
  Buffer qkv = random(act(), Shape{40, 3 * kHidden});
  const Values values = values_of(qkv);
  for (std::int64_t i = 0; i < 40 * kHidden; ++i) {  // all queries are zero
    const std::int64_t at = i / kHidden * 3 * kHidden + i % kHidden;
    if (is_bf16()) {
      qkv.as<base::Bf16>()[at] = {0};
    } else {
      qkv.as<float>()[at] = 0.0F;
    }
  }
  Values mean(kHidden, 0.0);
  for (std::size_t i = 0; i < 40U * kHidden; ++i) {
    mean[i % kHidden] += values[i / kHidden * 3 * kHidden + 2 * kHidden + i % kHidden] / 40.0;
  }
  const Buffer out = attend({1, 40, kHeads}, qkv, {40}, AttentionOutput::kRowMajor);
  const Values computed = values_of(out);
  const Values last(computed.end() - kHidden, computed.end());
  EXPECT_LE(worst_error(last, mean, relative(), 1e-6), 1.0);
}

// Padding is never read: NaN in it changes no bit.
TEST_P(Attention, keys_beyond_the_length_are_not_read) {
  const ops::AttentionProblem problem{2, 50, kHeads, 64};
  Buffer qkv = random(act(), Shape{100, 3 * kHidden});
  const std::vector<std::int32_t> lengths = {50, 19};
  const Buffer clean = attend(problem, qkv, lengths, AttentionOutput::kRowMajor);
  auto* bytes = static_cast<std::byte*>(qkv.view().data());
  const std::size_t row = 3 * kHidden * tensor::size_bytes_of(act());
  std::memset(bytes + 69 * row, 0xFF, 31 * row);
  const Buffer poisoned = attend(problem, qkv, lengths, AttentionOutput::kRowMajor);
  EXPECT_EQ(differing_bits(clean, poisoned), 0);
}

TEST_P(Attention, padded_queries_without_a_visible_key_are_finite) {
  const ops::AttentionProblem problem{1, 200, kHeads, 64};
  const Buffer qkv = random(act(), Shape{200, 3 * kHidden});
  for (const double value : values_of(attend(problem, qkv, {3}, AttentionOutput::kRowMajor))) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

// q, and k with v, of the rows that row_of names; row numbers inside a batch row.
void Attention::check_subset(std::int64_t batch, std::int64_t keys, std::int64_t queries) {
  const auto lengths = ragged(batch, keys);
  const Buffer qkv = random(act(), Shape{batch * keys, 3 * kHidden}, 2.0F);
  const std::size_t row = kHidden * tensor::size_bytes_of(act());
  const auto* from = static_cast<const std::byte*>(qkv.view().data());
  Buffer q(act(), Shape{batch * queries, kHidden});
  Buffer kv(act(), Shape{batch * keys, 2 * kHidden});
  auto* q_bytes = static_cast<std::byte*>(q.view().data());
  auto* kv_bytes = static_cast<std::byte*>(kv.view().data());
  const auto row_of = [&](std::int64_t i) {
    const std::int64_t b = i / queries;
    const std::int64_t real = lengths[static_cast<std::size_t>(b)];
    return static_cast<std::size_t>(b * keys +
                                    (queries == keys ? i % queries : i % queries * 11 % real));
  };
  for (std::int64_t i = 0; i < batch * keys; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::memcpy(kv_bytes + at * 2 * row, from + (3 * at + 1) * row, 2 * row);
  }
  for (std::int64_t i = 0; i < batch * queries; ++i) {
    std::memcpy(q_bytes + static_cast<std::size_t>(i) * row, from + 3 * row_of(i) * row, row);
  }
  for (const AttentionOutput layout : {AttentionOutput::kHeadMajor, AttentionOutput::kRowMajor}) {
    const Values all = values_of(attend({batch, keys, kHeads}, qkv, lengths, layout));
    const Values some = values_of(attend({batch, queries, keys, kHeads}, q, kv, lengths, layout));
    for (std::int64_t i = 0; i < batch * queries; ++i) {
      const std::size_t at = row_of(i);
      if (static_cast<std::int64_t>(at) % keys >= lengths[at / static_cast<std::size_t>(keys)])
        continue;
      ASSERT_TRUE(std::equal(some.begin() + i * kHidden, some.begin() + (i + 1) * kHidden,
                             all.begin() + static_cast<std::int64_t>(at) * kHidden))
          << batch << " x " << keys << ", query " << i << " of " << queries;
    }
  }
}

TEST_P(Attention, a_subset_of_queries_has_the_bits_of_all_queries) {
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t keys : {37, 64, 704}) {
      for (const std::int64_t queries : {keys, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}) {
        check_subset(batch, keys, queries);
      }
    }
  }
}

// Canaries: a window off by one either way, no scale, and a rotated v must not pass.
TEST_P(Attention, canary_wrong_windows_and_rotated_values_are_caught) {
  const ops::AttentionProblem problem{1, 150, kHeads, 64};
  const Buffer qkv = random(act(), Shape{150, 3 * kHidden}, 2.0F);
  const Values computed = values_of(attend(problem, qkv, {150}, AttentionOutput::kRowMajor));
  const std::vector<std::int32_t> lengths = {150};
  const auto error_with = [&](const ops::AttentionProblem& other, const Values& input) {
    return worst_error(computed, reference::attention(other, input, lengths), relative(),
                       absolute());
  };
  const Values input = values_of(qkv);
  EXPECT_LE(error_with(problem, input), 1.0);
  EXPECT_GT(error_with({1, 150, kHeads, 63}, input), 1.0);
  EXPECT_GT(error_with({1, 150, kHeads, 65}, input), 1.0);
  Values with_rotated_v = input;
  for (std::size_t r = 0; r < 150; ++r) {
    for (std::size_t c = 0; c < kHidden; ++c) {
      with_rotated_v[r * 3 * kHidden + 2 * kHidden + c] =
          input[r * 3 * kHidden + 2 * kHidden + (c + 1) % kHidden];
    }
  }
  EXPECT_GT(error_with(problem, with_rotated_v), 1.0);
}

INSTANTIATE_TEST_SUITE_P(cpu, Attention, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::cpu
