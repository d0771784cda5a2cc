// The 160 supported shapes of the rotation times the two tables: every variant bitwise equal to the
// level it refers to, the bytes of v as the canary, and the values right.
#include <array>
#include <cstring>

#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

namespace reference = ops::reference;
using ops::RopeVariant;

constexpr float kThetaFull = 160000.0F;
constexpr float kThetaSliding = 10000.0F;
constexpr std::int64_t kHeads = 3;  // 6 heads of q and k: no multiple of 4 or 8
constexpr std::int64_t kWidth = 3 * kHeads * ops::kHeadDim;
constexpr std::array kVariants = {RopeVariant::kRowBlock32, RopeVariant::kR1H4, RopeVariant::kR2H4,
                                  RopeVariant::kR1H8};

class Rope : public EveryWay {
 protected:
  // Rows of v that differ from `before`.
  static std::int64_t touched_values(const Buffer& before, const Buffer& after);
};

std::int64_t Rope::touched_values(const Buffer& before, const Buffer& after) {
  const std::size_t size = tensor::size_bytes_of(before.dtype());
  const auto* old_bytes = static_cast<const std::byte*>(before.view().data());
  const auto* new_bytes = static_cast<const std::byte*>(after.view().data());
  const std::size_t row = kWidth * size;
  std::int64_t touched = 0;
  for (std::int64_t r = 0; r < before.view().rows(); ++r) {
    const std::size_t v = static_cast<std::size_t>(r) * row + row / 3 * 2;
    touched += std::memcmp(old_bytes + v, new_bytes + v, row / 3) != 0 ? 1 : 0;
  }
  return touched;
}

// The long sweep runs once per instruction set: in bf16, on one thread.
class RopeShapes : public Rope {};

std::vector<Way> one_thread_bf16() {
  std::vector<Way> chosen = ways();
  std::erase_if(chosen, [](const Way& way) {
    return way.precision != ops::Precision::kBf16 || way.threads > 1;
  });
  return chosen;
}

TEST_P(RopeShapes, all_variants_agree_bitwise_at_160_shapes_with_both_tables) {
  const Buffer all = random(act(), Shape{16 * 512, kWidth}, 3.0F);
  for (const float theta : {kThetaFull, kThetaSliding}) {
    const ops::WeightId table = backend_->prepare_rope(theta, 512);
    for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
      for (std::int64_t length = 16; length <= 512; length += 16) {
        const Shape shape{batch * length, kWidth};
        const auto fresh = [&] {
          Buffer qkv(act(), shape);
          std::memcpy(qkv.view().data(), all.view().data(), qkv.view().size_bytes());
          return qkv;
        };
        const Buffer before = fresh();
        Buffer expected = fresh();
        backend_->rope({batch, length, kHeads, RopeVariant::kRowBlock32Div64}, table,
                       expected.view());
        ASSERT_EQ(touched_values(before, expected), 0);
        ASSERT_GT(differing_bits(before, expected), shape.element_count() / 4);
        for (const RopeVariant variant : kVariants) {
          Buffer qkv = fresh();
          backend_->rope({batch, length, kHeads, variant}, table, qkv.view());
          ASSERT_EQ(std::memcmp(qkv.view().data(), expected.view().data(), qkv.view().size_bytes()),
                    0)
              << batch << " x " << length << ", variant " << static_cast<int>(variant);
        }
      }
    }
  }
}

TEST_P(Rope, values_agree_with_the_reference_at_odd_shapes) {
  for (const float theta : {kThetaFull, kThetaSliding}) {
    const ops::WeightId table = backend_->prepare_rope(theta, 704);
    for (const auto& [batch, length] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 31}, {2, 33}, {1, 704}}) {
      for (std::int64_t heads = 1; heads <= 2; ++heads) {
        const Buffer before = random(act(), Shape{batch * length, 3 * heads * 64}, 3.0F);
        Buffer first;
        for (int v = 0; v < 5; ++v) {
          const ops::RopeProblem problem{batch, length, heads, static_cast<RopeVariant>(v)};
          Buffer qkv = copy_of(before);
          backend_->rope(problem, table, qkv.view());
          if (v == 0) {
            Values expected = values_of(before);
            reference::rope(problem, theta, is_bf16(), expected);
            EXPECT_LE(worst_error(values_of(qkv), expected, is_bf16() ? 0.00391 : 1e-6, 1e-6), 1.0);
            first = std::move(qkv);
          } else {
            EXPECT_EQ(differing_bits(first, qkv), 0) << v;
          }
        }
      }
    }
  }
}

// Canaries: a rotation of v, and positions off by one, must not pass.
TEST_P(Rope, canary_rotated_v_and_shifted_positions_are_caught) {
  const ops::RopeProblem problem{1, 9, kHeads, RopeVariant::kR1H4};
  const Buffer before = random(act(), Shape{9, kWidth}, 3.0F);
  Buffer wrong = copy_of(before);
  const ops::WeightId table = backend_->prepare_rope(kThetaSliding, 64);
  backend_->rope(problem, table, wrong.view());
  auto* bytes = static_cast<std::byte*>(wrong.view().data());
  const std::size_t part = kWidth / 3 * tensor::size_bytes_of(act());
  std::memcpy(bytes + 5 * 3 * part + 2 * part, bytes + 5 * 3 * part, part);  // a q where a v was
  EXPECT_EQ(touched_values(before, wrong), 1);
  Values shifted = values_of(before);
  Values expected = values_of(before);
  reference::rope(problem, kThetaSliding, is_bf16(), expected);
  shifted.insert(shifted.begin(), kWidth, 1.0);
  reference::rope({1, 10, kHeads, RopeVariant::kR1H4}, kThetaSliding, is_bf16(), shifted);
  shifted.erase(shifted.begin(), shifted.begin() + kWidth);
  EXPECT_GT(worst_error(shifted, expected, 0.00391, 1e-6), 1.0);
}

INSTANTIATE_TEST_SUITE_P(cpu, Rope, testing::ValuesIn(ways()), way_name);
INSTANTIATE_TEST_SUITE_P(cpu, RopeShapes, testing::ValuesIn(one_thread_bf16()), way_name);

}  // namespace
}  // namespace abba::cpu
