// Two seeded generators, both with the same output on every machine.
// philox4x32_10: counter based, so element i of a tensor can be drawn without the ones before it.
// Random: a sequential generator for shuffles, resampling and test data. No generator is global.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace abba::base {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
// 3", SC'11): four independent 32-bit words for (counter, key).
PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

// xoshiro256** (Blackman, Vigna 2018), its state filled by SplitMix64 from one 64-bit seed.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next_u64();
  // Uniform in [0, 1): 53 bits.
  double uniform();
  float uniform_float(float low, float high);
  // Uniform in [0, bound) without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Standard normal by Marsaglia's polar method. The last bit depends on libm's log: not for
  // goldens.
  double normal();

  // Fisher-Yates; every permutation equally likely.
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  std::array<std::uint64_t, 4> state_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace abba::base
