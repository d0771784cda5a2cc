// The two 16-bit floating-point formats, and conversions that give the same bits on every machine.
// Rounding is to nearest, ties to even; infinities stay, overflow gives infinity, subnormals are
// kept, a NaN stays a NaN and comes out quiet with its upper payload bits. The scalar functions are
// the definition; the bulk functions use AVX2 and F16C where the CPU has them and are tested equal
// to the scalar ones over all 65536 patterns.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace abba::base {

// Storage types: bits only, no arithmetic.
struct Bf16 {
  std::uint16_t bits;
  friend bool operator==(Bf16, Bf16) = default;
};
struct F16 {
  std::uint16_t bits;
  friend bool operator==(F16, F16) = default;
};

// Exact: a bf16 is the upper half of a float.
inline float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16U);
}

// Exact (a signalling NaN becomes quiet).
inline float to_float(F16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000U} << 16U;
  const std::uint32_t exponent = (value.bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = value.bits & 0x3ffU;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | fraction << 13U);
  }
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const auto magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
    return std::bit_cast<float>(sign | magnitude);
  }
  return std::bit_cast<float>(sign | (exponent + 112U) << 23U | fraction << 13U);
}

inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>(bits >> 16U | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U)};
}

inline F16 to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t result = 0x7c00U;
  if (magnitude > 0x7f800000U) {
    result = 0x7e00U | (magnitude >> 13U & 0x3ffU);
  } else if (magnitude < 0x38800000U) {  // below 2^-14: adding 1/2 aligns units of 2^-24 and rounds
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    result = std::bit_cast<std::uint32_t>(aligned) - 0x3f000000U;
  } else if (magnitude < 0x47800000U) {  // below 2^16; rounding up to 2^16 gives 0x7c00, infinity
    result = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13U & 1U)) >> 13U;
  }
  return {static_cast<std::uint16_t>(sign | result)};
}

// `value` rounded to bf16 and widened again.
inline float round_to_bf16(float value) {
  return to_float(to_bf16(value));
}

// Bulk conversions of `count` elements; `in` and `out` do not overlap and need no alignment.
void convert(const Bf16* in, float* out, std::size_t count);
void convert(const F16* in, float* out, std::size_t count);
void convert(const float* in, Bf16* out, std::size_t count);
void convert(const float* in, F16* out, std::size_t count);
// Through float, as a load of an F16 checkpoint into bf16 does: exact, then one rounding.
void convert(const F16* in, Bf16* out, std::size_t count);

}  // namespace abba::base
