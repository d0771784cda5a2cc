// Strided and misaligned inputs of attention: refused by the launchers, copied by the wrapper,
// counted, and of the bits of packed ones.
#include <cstring>

#include "engine/cuda/kernels/attention_wrapper.h"
#include "tests/device/launcher.h"

namespace abba::device {
namespace {

using cuda::StridedHeads;
using ops::AttentionProblem;
using ops::SubsetAttentionProblem;

constexpr std::int64_t kHeads = kLauncherHeads;
constexpr std::int64_t kWidth = kLauncherWidth;

class AttentionCopies : public AttentionLaunch {
 protected:
  static constexpr std::int64_t kBatch = 3;
  static constexpr std::int64_t kLength = 70;
  // q, k or v of a packed qkv at `at`.
  [[nodiscard]] StridedHeads packed(const std::byte* at, int part) const {
    return {at + part * kWidth * size(), kLength * 3 * kWidth, 3 * kWidth};
  }
  // One part of qkv [B*L, 3, H, 64] with its axes in another order: [B, H, 64, L] if is_turned
  // (columns L apart), else [B, H, L, 64].
  [[nodiscard]] Buffer transposed(const Buffer& qkv, int part, bool is_turned) const;
  [[nodiscard]] static StridedHeads by_head(const Uploaded& from, bool is_turned) {
    if (is_turned) return {from.data(), kWidth * kLength, 1, 64 * kLength, kLength};
    return {from.data(), kWidth * kLength, 64, 64 * kLength};
  }
  const AttentionProblem problem_{kBatch, kLength, kHeads};
  const Lengths lengths_ = ragged_lengths(kBatch, kLength);
};

Buffer AttentionCopies::transposed(const Buffer& qkv, int part, bool is_turned) const {
  Buffer out(act(), Shape{kBatch * kLength, kWidth});
  const auto* from = static_cast<const std::byte*>(qkv.view().data());
  auto* to = static_cast<std::byte*>(out.view().data());
  for (std::int64_t i = 0; i < kBatch * kLength * kWidth; ++i) {
    const std::int64_t row = i / kWidth;
    const std::int64_t b = row / kLength;
    const std::int64_t l = row % kLength;
    const std::int64_t h = i % kWidth / 64;
    const std::int64_t c = i % 64;
    const std::int64_t head = (b * kHeads + h) * kLength * 64;
    const std::int64_t place = head + (is_turned ? c * kLength + l : l * 64 + c);
    const std::int64_t source = (row * 3 + part) * kWidth + i % kWidth;
    std::memcpy(to + place * size(), from + source * size(), static_cast<std::size_t>(size()));
  }
  return out;
}

TEST_P(AttentionCopies, transposed_and_misaligned_inputs_are_copied_and_give_the_same_bits) {
  const Buffer input = random(act(), Shape{kBatch * kLength, 3 * kWidth}, 2.0F);
  const Uploaded qkv{input};
  const Uploaded shifted{input, static_cast<std::size_t>(size())};
  const Uploaded counts{integers(lengths_)};
  Lengths spread;
  for (const std::int32_t length : lengths_) spread.insert(spread.end(), {length, 9});
  const Uploaded spread_counts{integers(spread)};
  const Uploaded turned_q{transposed(input, 0, true)};
  const Uploaded headed_k{transposed(input, 1, false)};
  const Uploaded turned_v{transposed(input, 2, true)};
  cuda::AttentionWrapper wrapper(
      cuda::AttentionWrapper::scratch_bytes(problem_, GetParam().precision));
  const auto attend = [&](const StridedHeads& q, const StridedHeads& k, const StridedHeads& v,
                          const cuda::StridedLengths& lengths) {
    return run(kBatch * kLength,
               [&](void* out) { wrapper.attend(problem_, q, k, v, lengths, out, context()); });
  };
  const StridedHeads q = packed(qkv.data(), 0);
  const StridedHeads k = packed(qkv.data(), 1);
  const StridedHeads v = packed(qkv.data(), 2);
  const Buffer expected = run(kBatch * kLength, [&](void* out) {
    cuda::launch_attention(problem_, qkv.data(), counts.integers(), out, context());
  });
  EXPECT_EQ(differing_bits(attend(q, k, v, {counts.integers()}), expected), 0);
  EXPECT_EQ(wrapper.copies(), 0);
  EXPECT_EQ(differing_bits(attend(q, k, v, {spread_counts.integers(), 2}), expected), 0);
  EXPECT_EQ(wrapper.copies(), 1);
  EXPECT_EQ(differing_bits(attend(by_head(turned_q, true), by_head(headed_k, false),
                                  by_head(turned_v, true), {counts.integers()}),
                           expected),
            0);
  EXPECT_EQ(wrapper.copies(), 4);
  EXPECT_EQ(differing_bits(attend(packed(shifted.data(), 0), packed(shifted.data(), 1),
                                  packed(shifted.data(), 2), {counts.integers()}),
                           expected),
            0);
  EXPECT_EQ(wrapper.copies(), 7);
  // Canary: the same memory misread as if it were packed by rows gives other bits.
  EXPECT_GT(differing_bits(attend(by_head(turned_q, false), k, v, {counts.integers()}), expected),
            0);
}

TEST_P(AttentionCopies, a_view_one_batch_row_late_is_read_in_place) {
  const Buffer input = random(act(), Shape{(kBatch + 1) * kLength, 3 * kWidth}, 2.0F);
  const Uploaded qkv{input};
  const Uploaded alone{rows_of(input, kLength, kBatch * kLength)};
  const Uploaded counts{integers(lengths_)};
  const std::byte* late = qkv.data() + kLength * 3 * kWidth * size();
  cuda::AttentionWrapper wrapper(0);
  const Buffer got = run(kBatch * kLength, [&](void* out) {
    wrapper.attend(problem_, packed(late, 0), packed(late, 1), packed(late, 2), {counts.integers()},
                   out, context());
  });
  const Buffer expected = run(kBatch * kLength, [&](void* out) {
    cuda::launch_attention(problem_, alone.data(), counts.integers(), out, context());
  });
  EXPECT_EQ(differing_bits(got, expected), 0);
  EXPECT_EQ(wrapper.copies(), 0);
}

TEST_P(AttentionCopies, chosen_rows_with_strided_keys_are_copied_and_give_the_same_bits) {
  const Buffer input = random(act(), Shape{kBatch * kLength, 3 * kWidth}, 2.0F);
  const Uploaded qkv{input};
  const Uploaded q{queries_of(input, kBatch, {0, 20})};
  const Uploaded kv{keys_and_values_of(input)};
  const Uploaded counts{integers(lengths_)};
  const SubsetAttentionProblem problem{kBatch, 2, kLength, kHeads};
  cuda::AttentionWrapper wrapper(
      cuda::AttentionWrapper::scratch_bytes(problem, GetParam().precision));
  const Buffer expected = run(kBatch * 2, [&](void* out) {
    cuda::launch_attention(problem, q.data(), kv.data(), counts.integers(), out, context());
  });
  const StridedHeads rows{q.data(), 2 * kWidth, kWidth};
  // k and v where they lie in qkv: three widths apart, not two.
  const Buffer got = run(kBatch * 2, [&](void* out) {
    wrapper.attend(problem, rows, packed(qkv.data(), 1), packed(qkv.data(), 2), {counts.integers()},
                   out, context());
  });
  EXPECT_EQ(differing_bits(got, expected), 0);
  EXPECT_EQ(wrapper.copies(), 2);
}

INSTANTIATE_TEST_SUITE_P(device, AttentionCopies, testing::ValuesIn(cuda_ways()), way_name);

}  // namespace
}  // namespace abba::device
