// The 160 supported shapes of the rotation times the two tables: every variant bitwise equal to the
// level it refers to, the bytes of v as the canary, and the values right.
#include <array>
#include <cstring>

#include "tests/device/device.h"

namespace abba::device {
namespace {

namespace reference = ops::reference;
using ops::RopeVariant;

constexpr float kThetaFull = 160000.0F;
constexpr float kThetaSliding = 10000.0F;
constexpr std::int64_t kHeads = 3;  // 6 heads of q and k: no multiple of 4 or 8
constexpr std::array kVariants = {RopeVariant::kRowBlock32, RopeVariant::kR1H4, RopeVariant::kR2H4,
                                  RopeVariant::kR1H8};

class Rope : public EveryWay {
 protected:
  // Rows whose v differs between two [M, 3, H, 64].
  static std::int64_t touched_rows(const Buffer& before, const Buffer& after);
  Buffer rotated(const Buffer& before, std::int64_t batch, std::int64_t heads, RopeVariant variant,
                 ops::WeightId table);
  void compare_variants(const Buffer& before, std::int64_t batch, std::int64_t heads,
                        ops::WeightId table);
};

std::int64_t Rope::touched_rows(const Buffer& before, const Buffer& after) {
  const auto* old_bytes = static_cast<const std::byte*>(before.view().data());
  const auto* new_bytes = static_cast<const std::byte*>(after.view().data());
  const std::size_t row =
      static_cast<std::size_t>(before.view().columns()) * tensor::size_bytes_of(before.dtype());
  std::int64_t touched = 0;
  for (std::int64_t r = 0; r < before.view().rows(); ++r) {
    const std::size_t v = static_cast<std::size_t>(r) * row + row / 3 * 2;
    touched += std::memcmp(old_bytes + v, new_bytes + v, row / 3) != 0 ? 1 : 0;
  }
  return touched;
}

Buffer Rope::rotated(const Buffer& before, std::int64_t batch, std::int64_t heads,
                     RopeVariant variant, ops::WeightId table) {
  Tensor qkv = on_device(before);
  backend_->rope({batch, before.view().rows() / batch, heads, variant}, table, qkv.view());
  return qkv.read();
}

void Rope::compare_variants(const Buffer& before, std::int64_t batch, std::int64_t heads,
                            ops::WeightId table) {
  const Buffer expected = rotated(before, batch, heads, RopeVariant::kRowBlock32Div64, table);
  ASSERT_EQ(touched_rows(before, expected), 0);
  if (before.view().rows() > batch) {  // position 0 is not turned
    ASSERT_GT(differing_bits(before, expected), before.view().element_count() / 4);
  }
  for (const RopeVariant variant : kVariants) {
    ASSERT_EQ(differing_bits(rotated(before, batch, heads, variant, table), expected), 0)
        << batch << " x " << before.view().rows() / batch << ", " << heads << " heads, variant "
        << static_cast<int>(variant);
  }
}

TEST_P(Rope, all_variants_agree_bitwise_at_160_shapes_with_both_tables) {
  const std::int64_t width = 3 * kHeads * ops::kHeadDim;
  const std::int64_t most = is_thorough() ? 512 : 48;
  const Buffer all = random(act(), Shape{16 * most, width}, 3.0F);
  int comparisons = 0;
  for (const float theta : {kThetaFull, kThetaSliding}) {
    const ops::WeightId table = backend_->prepare_rope(theta, most);
    for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
      for (std::int64_t length = 16; length <= most; length += 16) {
        Buffer before(act(), Shape{batch * length, width});
        std::memcpy(before.view().data(), all.view().data(), before.view().size_bytes());
        compare_variants(before, batch, kHeads, table);
        if (HasFatalFailure()) return;
        ++comparisons;
      }
    }
  }
  EXPECT_EQ(comparisons, is_thorough() ? 320 : 30);
}

TEST_P(Rope, all_variants_agree_at_the_models_heads_and_odd_shapes) {
  const ops::WeightId table = backend_->prepare_rope(kThetaSliding, 1024);
  for (const auto& [batch, length, heads] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {3, 31, 2}, {2, 33, 12}, {1, 64, 16}, {5, 37, 16}, {1, 1024, 5}}) {
    compare_variants(random(act(), Shape{batch * length, 3 * heads * 64}, 3.0F), batch, heads,
                     table);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Rope, values_agree_with_the_reference_at_odd_shapes) {
  for (const float theta : {kThetaFull, kThetaSliding}) {
    const ops::WeightId table = backend_->prepare_rope(theta, 704);
    for (const auto& [batch, length] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 31}, {2, 33}, {1, 704}}) {
      for (std::int64_t heads = 1; heads <= 2; ++heads) {
        const Buffer before = random(act(), Shape{batch * length, 3 * heads * 64}, 3.0F);
        Values expected = values_of(before);
        reference::rope({batch, length, heads, RopeVariant::kR1H4}, theta, is_bf16(), expected);
        for (int v = 0; v < 5; ++v) {
          const Buffer got = rotated(before, batch, heads, static_cast<RopeVariant>(v), table);
          EXPECT_LE(worst_error(values_of(got), expected, is_bf16() ? 0.00391 : 1e-6, 1e-6), 1.0)
              << batch << " x " << length << ", " << heads << " heads, variant " << v;
        }
      }
    }
  }
}

// Canaries: a v that was rotated, and positions off by one, must not pass.
TEST_P(Rope, canary_rotated_v_and_shifted_positions_are_caught) {
  const std::int64_t width = 3 * kHeads * ops::kHeadDim;
  const Buffer before = random(act(), Shape{9, width}, 3.0F);
  const ops::WeightId table = backend_->prepare_rope(kThetaSliding, 64);
  Buffer wrong = rotated(before, 1, kHeads, RopeVariant::kR1H4, table);
  auto* bytes = static_cast<std::byte*>(wrong.view().data());
  const std::size_t part = static_cast<std::size_t>(width) / 3 * tensor::size_bytes_of(act());
  std::memcpy(bytes + 5 * 3 * part + 2 * part, bytes + 5 * 3 * part, part);  // a q where a v was
  EXPECT_EQ(touched_rows(before, wrong), 1);
  Values shifted = values_of(before);
  Values expected = values_of(before);
  reference::rope({1, 9, kHeads, RopeVariant::kR1H4}, kThetaSliding, is_bf16(), expected);
  shifted.insert(shifted.begin(), static_cast<std::size_t>(width), 1.0);
  reference::rope({1, 10, kHeads, RopeVariant::kR1H4}, kThetaSliding, is_bf16(), shifted);
  shifted.erase(shifted.begin(), shifted.begin() + width);
  EXPECT_GT(worst_error(shifted, expected, 0.00391, 1e-6), 1.0);
}

INSTANTIATE_TEST_SUITE_P(device, Rope, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
