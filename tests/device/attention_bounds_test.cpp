// What must not reach a row of attention: padding, other rows of the batch, other heads. And what
// must: a NaN that the row sees.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/device/attention_inputs.h"

namespace abba::device {
namespace {

using ops::AttentionProblem;
using ops::kFullAttention;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHidden = kHeads * ops::kHeadDim;
constexpr std::int64_t kWindows[] = {kFullAttention, 64};

class AttentionBounds : public AttentionWay {
 protected:
  Buffer qkv(std::int64_t rows) { return random(act(), Shape{rows, 3 * kHidden}, 2.0F); }
  static void append(Buffer& to, std::int64_t row, const Buffer& from);
};

void AttentionBounds::append(Buffer& to, std::int64_t row, const Buffer& from) {
  auto* bytes = static_cast<std::byte*>(to.view().data());
  const std::size_t size = tensor::size_bytes_of(to.dtype());
  std::memcpy(bytes + static_cast<std::size_t>(row * to.view().columns()) * size,
              from.view().data(), from.view().size_bytes());
}

// NaN, then huge random values, in the padding of every batch row.
TEST_P(AttentionBounds, the_content_of_padding_changes_no_bit_of_a_real_row) {
  for (const std::int64_t window : kWindows) {
    const AttentionProblem problem{3, 150, kHeads, window};
    const Lengths lengths = {150, 67, 3};
    Buffer input = qkv(450);
    const Buffer clean = attend(problem, input, lengths);
    for (const bool is_nan : {true, false}) {
      for (std::int64_t b = 0; b < 3; ++b) {
        for (std::int64_t row = lengths[static_cast<std::size_t>(b)]; row < 150; ++row) {
          for (std::int64_t c = 0; c < 3 * kHidden; ++c) {
            const float huge = random_.uniform_float(-1e38F, 1e38F);
            set(input, b * 150 + row, c, is_nan ? NAN : huge);
          }
        }
      }
      const Buffer out = attend(problem, input, lengths);
      for (const double value : values_of(out)) ASSERT_TRUE(std::isfinite(value));
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t real = lengths[static_cast<std::size_t>(b)];
        EXPECT_EQ(differing_bits(rows_of(out, b * 150, real), rows_of(clean, b * 150, real)), 0);
      }
    }
  }
}

TEST_P(AttentionBounds, padding_queries_without_a_visible_key_are_finite) {
  for (const std::int32_t real : {3, 1, 0}) {
    const AttentionProblem problem{1, 200, kHeads, 64};
    const Buffer out = attend(problem, qkv(200), {real});
    for (const double value : values_of(out)) ASSERT_TRUE(std::isfinite(value));
  }
}

// A short row beside a long one has the bits it has alone, wherever it stands in the batch.
TEST_P(AttentionBounds, a_row_has_the_same_bits_alone_and_in_every_place_of_a_batch) {
  for (const std::int64_t window : kWindows) {
    for (const std::int64_t length : {64, 256, 257, 512}) {
      if (length > 64 && !is_thorough()) continue;
      const Buffer short_row = qkv(length);  // 3 real tokens, the rest padding
      const Lengths alone_length = {3};
      const Buffer alone = attend({1, length, kHeads, window}, short_row, alone_length);
      for (const std::int64_t batch : {2, 3, 16}) {
        for (std::int64_t place = 0; place < batch; ++place) {
          Buffer input = qkv(batch * length);
          append(input, place * length, short_row);
          Lengths lengths(static_cast<std::size_t>(batch), static_cast<std::int32_t>(length));
          lengths[static_cast<std::size_t>(place)] = 3;
          const Buffer out = attend({batch, length, kHeads, window}, input, lengths);
          ASSERT_EQ(differing_bits(rows_of(out, place * length, 3), rows_of(alone, 0, 3)), 0)
              << "place " << place << " of " << batch << " rows of " << length;
        }
      }
    }
  }
}

// The whole of a long row, too, and canary: another row's place has other bits.
TEST_P(AttentionBounds, a_long_row_does_not_depend_on_its_neighbours) {
  const Buffer row = qkv(130);
  const Buffer alone = attend({1, 130, kHeads, 64}, row, {130});
  Buffer input = qkv(5 * 130);
  append(input, 3 * 130, row);
  const Buffer out = attend({5, 130, kHeads, 64}, input, {130, 7, 129, 130, 1});
  EXPECT_EQ(differing_bits(rows_of(out, 3 * 130, 130), alone), 0);
  EXPECT_GT(differing_bits(rows_of(out, 0, 130), alone), 130 * kHidden / 2);
}

class AttentionNan : public AttentionBounds {};

TEST_P(AttentionNan, a_nan_reaches_every_row_that_sees_it_and_no_other_head) {
  constexpr std::int64_t kNan = 180;  // the row it is put in
  const std::int64_t length = 200;
  for (const std::int64_t window : kWindows) {
    for (int part = 0; part < 3; ++part) {
      const AttentionProblem problem{1, length, kHeads, window};
      Buffer input = qkv(length);
      const Buffer clean = attend(problem, input, {length});
      set(input, kNan, part * kHidden + 64 + 5, NAN);  // head 1, column 5 of q, k or v
      const Buffer out = attend(problem, input, {length});
      const Values values = values_of(out);
      const Values before = values_of(clean);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool sees = part == 0 ? i == kNan : window < 0 || std::abs(i - kNan) <= window;
        const auto first = static_cast<std::size_t>(i * kHidden);
        ASSERT_TRUE(!sees || std::isnan(values[first + 64 + 5])) << "row " << i << ", " << part;
        for (std::size_t c = first; c < first + 64; ++c) {
          ASSERT_EQ(values[c], before[c]) << "row " << i << ", " << part;
        }
      }
      // The first row's warp does not visit the tile of the NaN.
      if (window < 0 || part == 0) continue;
      EXPECT_EQ(differing_bits(rows_of(out, 0, 1), rows_of(clean, 0, 1)), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(device, AttentionBounds, testing::ValuesIn(ways()), way_name);
INSTANTIATE_TEST_SUITE_P(device, AttentionNan, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
