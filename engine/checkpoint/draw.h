// The values of a synthetic tensor: element i is mean + scale * (S - 262140), where S is the sum of
// the eight 16-bit halves of the Philox4x32-10 block with counter i. S is nearly normal; one
// multiplication and one addition in float, one rounding to F16, nothing from libm: the same bits
// on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/half.h"
#include "engine/base/prng.h"

namespace abba::checkpoint {

// The two floats that make mean and standard deviation of a tensor's elements.
struct Distribution {
  float mean = 0;
  float scale = 0;  // standard deviation / sqrt(8 (65536^2 - 1) / 12)
};
Distribution distribution(double mean, double standard_deviation);

// The first 64 bits of SHA-256 over seed and tensor name.
base::PhiloxKey tensor_key(std::uint64_t seed, std::string_view name);

// One element: the definition.
base::F16 draw(base::PhiloxKey key, std::uint64_t index, Distribution from);

// Elements [first, first + count) into `out`; AVX2 where the CPU has it, tested equal to draw().
void draw(base::PhiloxKey key, std::uint64_t first, std::size_t count, Distribution from,
          base::F16* out);

}  // namespace abba::checkpoint
