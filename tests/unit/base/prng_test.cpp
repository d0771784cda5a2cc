#include "engine/base/prng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace abba::base {
namespace {

// The known-answer vectors published with Random123 1.14 (kat_vectors, philox4x32 10).
TEST(Prng, PhiloxKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Prng, CanaryOneKeyBitChangesPhilox) {
  EXPECT_NE(philox4x32_10({0, 0, 0, 0}, {1, 0}), philox4x32_10({0, 0, 0, 0}, {0, 0}));
}

TEST(Prng, SameSeedSameNumbersOtherSeedOthers) {
  Random a(42);
  Random b(42);
  Random c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next_u64();
    EXPECT_EQ(value, b.next_u64());
    differs = differs || value != c.next_u64();
  }
  EXPECT_TRUE(differs);
}

TEST(Prng, UniformFillsItsIntervalEvenly) {
  Random random(1);
  std::array<int, 20> cells = {};
  double sum = 0;
  for (int i = 0; i < 200000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    ++cells[static_cast<std::size_t>(value * 20)];
  }
  EXPECT_NEAR(sum / 200000, 0.5, 0.003);
  for (const int count : cells) EXPECT_NEAR(count, 10000, 500);
}

TEST(Prng, BelowIsUnbiasedForABoundThatDividesBadly) {
  Random random(2);
  const std::uint64_t bound = (std::uint64_t{1} << 63U) + (std::uint64_t{1} << 62U);
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t value = random.below(bound);
    ASSERT_LT(value, bound);
    if (value < bound / 3) ++low;
  }
  // next_u64() % bound would put half of all values into the lowest third.
  EXPECT_NEAR(low, 10000, 400);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Prng, NormalHasUnitDeviation) {
  Random random(3);
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
    if (std::abs(value) > 2) ++beyond_two;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.0455, 0.003);
}

TEST(Prng, ShuffleMakesEveryPermutationOfThree) {
  Random random(4);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> items = {0, 1, 2};
    random.shuffle(items);
    ++seen[items];
  }
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [permutation, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Prng, FloatsStayInTheirRange) {
  Random random(5);
  for (int i = 0; i < 10000; ++i) {
    const float value = random.uniform_float(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
  }
}

}  // namespace
}  // namespace abba::base
