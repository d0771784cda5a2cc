#include "engine/base/prng.h"

#include <bit>
#include <cmath>

#include "engine/base/error.h"

namespace abba::base {

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {  // SplitMix64
    seed += 0x9E3779B97F4A7C15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    word = z ^ (z >> 31U);
  }
}

std::uint64_t Random::next_u64() {
  const std::uint64_t result = std::rotl(state_[1] * 5U, 7) * 9U;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(next_u64() >> 11U) * 0x1p-53;
}

float Random::uniform_float(float low, float high) {
  return low + (high - low) * (static_cast<float>(next_u64() >> 40U) * 0x1p-24F);
}

std::uint64_t Random::below(std::uint64_t bound) {
  ABBA_CHECK(bound > 0);
  // Values below 2^64 mod bound would make small results likelier, so they are drawn again.
  const std::uint64_t refused = (0 - bound) % bound;
  std::uint64_t value = next_u64();
  while (value < refused) value = next_u64();
  return value % bound;
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_normal_ = y * factor;
  has_spare_ = true;
  return x * factor;
}

}  // namespace abba::base
