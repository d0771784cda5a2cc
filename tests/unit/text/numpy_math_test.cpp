// numpy's float32 exp and log bit for bit, over millions of arguments through a digest of all
// results. tests/reference/original/numpy_digests.py prints the digests from the pinned numpy.
#include "engine/text/numpy_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/sha256.h"

namespace abba::text {
namespace {

// SHA-256 of function(x) for every `step`th float from bit pattern `first` up to below `end`.
template <typename Function>
std::string digest(std::uint32_t first, std::uint32_t end, std::uint32_t step, Function function) {
  std::vector<float> values;
  for (std::uint64_t bits = first; bits < end; bits += step) {
    values.push_back(function(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
  return base::sha256_hex(std::string_view(reinterpret_cast<const char*>(values.data()),
                                           values.size() * sizeof(float)));
}

constexpr std::uint32_t kStep = 61;
constexpr std::uint32_t kNearZero = 0xB8800000;  // -2^-14
constexpr std::uint32_t kMinus87 = 0xC2AE0000;
constexpr std::uint32_t kSmallest = 0x2B8CBCCC;  // 1e-12
constexpr std::uint32_t kAboveOne = 0x3F800001;
constexpr std::string_view kExpDigest =
    "cc8d828ddcd52e918dc617814c6353e728e49e8ed4f01e7d25ef32b0e63366a5";
constexpr std::string_view kLogDigest =
    "19d7d8bc402ac539f44815447257861798b3944def7b568f2401e9ccfdb2a656";

TEST(NumpyMath, ExpHasNumpysBits) {
  EXPECT_EQ(digest(kNearZero, kMinus87, kStep, numpy_exp), kExpDigest);
}

TEST(NumpyMath, LogHasNumpysBits) {
  EXPECT_EQ(digest(kSmallest, kAboveOne, kStep, numpy_log), kLogDigest);
}

// Canary: the digest sees what a correctly rounded function does otherwise.
TEST(NumpyMath, ACorrectlyRoundedFunctionIsAnother) {
  const auto exp_once = [](float x) {
    return static_cast<float>(std::exp(static_cast<double>(x)));
  };
  const auto log_once = [](float x) {
    return static_cast<float>(std::log(static_cast<double>(x)));
  };
  EXPECT_NE(digest(kNearZero, kMinus87, kStep, exp_once), kExpDigest);
  EXPECT_NE(digest(kSmallest, kAboveOne, kStep, log_once), kLogDigest);
}

TEST(NumpyMath, StaysWithinAFewUnitsOfTheLastPlace) {
  for (double x = -87; x <= 0; x += 0.0137) {
    const double exact = std::exp(static_cast<double>(static_cast<float>(x)));
    EXPECT_NEAR(numpy_exp(static_cast<float>(x)) / exact, 1.0, 3e-7) << x;
  }
  EXPECT_EQ(numpy_exp(0.0F), 1.0F);
  EXPECT_EQ(numpy_exp(-1e30F), 0.0F);
  EXPECT_EQ(numpy_log(1.0F), 0.0F);
}

}  // namespace
}  // namespace abba::text
