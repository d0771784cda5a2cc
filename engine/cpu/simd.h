// One vector of floats, as wide as the instruction set this file is compiled for: 8 lanes with
// AVX2, 16 with AVX-512. The kernel files are compiled once per set, each time into the namespace
// that ABBA_CPU_ISA names, so that the two never meet at link time. Only intrinsics and <cstring>
// here: an inline function from elsewhere, compiled for AVX-512, could be the copy the linker
// keeps. Multiplies and adds are separate; fma() is called by name where the recipe leaves the
// choice.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "engine/base/half.h"

#ifndef ABBA_CPU_ISA
#define ABBA_CPU_ISA avx2  // for tools that read a header by itself; the build always says it
#endif

namespace abba::cpu::ABBA_CPU_ISA {

using base::Bf16;

#ifdef __AVX512F__

inline constexpr std::int64_t kLanes = 16;
using Vec = __m512;

inline Vec load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline Vec load(const Bf16* p) {
  const __m512i wide =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store(float* p, Vec v) {
  _mm512_storeu_ps(p, v);
}
inline Vec broadcast(float x) {
  return _mm512_set1_ps(x);
}
inline Vec add(Vec a, Vec b) {
  return _mm512_add_ps(a, b);
}
inline Vec sub(Vec a, Vec b) {
  return _mm512_sub_ps(a, b);
}
inline Vec mul(Vec a, Vec b) {
  return _mm512_mul_ps(a, b);
}
inline Vec div(Vec a, Vec b) {
  return _mm512_div_ps(a, b);
}
// The larger; b where a or b is a NaN: a bound goes first, so that a NaN in the other one survives.
inline Vec max(Vec a, Vec b) {
  return _mm512_max_ps(a, b);
}
inline Vec min(Vec a, Vec b) {
  return _mm512_min_ps(a, b);
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vec round_to_integer(Vec a) {
  return _mm512_roundscale_ps(a, 8);
}
inline Vec absolute(Vec a) {
  return _mm512_abs_ps(a);
}
// 2^n for integral n in [-126, 127].
inline Vec power_of_two(Vec n) {
  const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
// a >= b ? x : y, lane by lane (y where a or b is a NaN).
inline Vec select_ge(Vec a, Vec b, Vec x, Vec y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GE_OQ), y, x);
}
// Rounded to bf16 as base::to_bf16 does; the 16 bits of each lane in the upper half of the lane.
inline __m512i rounded_bits(Vec v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), sum, quiet);
}
inline Vec round_bf16(Vec v) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(rounded_bits(v), _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}
inline void store(Bf16* p, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(v), 16)));
}

#else

inline constexpr std::int64_t kLanes = 8;
using Vec = __m256;

inline Vec load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline Vec load(const Bf16* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline void store(float* p, Vec v) {
  _mm256_storeu_ps(p, v);
}
inline Vec broadcast(float x) {
  return _mm256_set1_ps(x);
}
inline Vec add(Vec a, Vec b) {
  return _mm256_add_ps(a, b);
}
inline Vec sub(Vec a, Vec b) {
  return _mm256_sub_ps(a, b);
}
inline Vec mul(Vec a, Vec b) {
  return _mm256_mul_ps(a, b);
}
inline Vec div(Vec a, Vec b) {
  return _mm256_div_ps(a, b);
}
inline Vec max(Vec a, Vec b) {
  return _mm256_max_ps(a, b);
}
inline Vec min(Vec a, Vec b) {
  return _mm256_min_ps(a, b);
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vec round_to_integer(Vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec absolute(Vec a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}
inline Vec power_of_two(Vec n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
inline Vec select_ge(Vec a, Vec b, Vec x, Vec y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GE_OQ));
}
inline __m256i rounded_bits(Vec v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 is_nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  return _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(quiet), is_nan));
}
inline Vec round_bf16(Vec v) {
  return _mm256_castsi256_ps(
      _mm256_and_si256(rounded_bits(v), _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
}
inline void store(Bf16* p, Vec v) {
  const __m256i narrow = _mm256_srli_epi32(rounded_bits(v), 16);
  const __m128i packed =
      _mm_packus_epi32(_mm256_castsi256_si128(narrow), _mm256_extracti128_si256(narrow, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}

#endif

// The first `count` < kLanes elements; the other lanes are zero.
template <typename T>
inline Vec load_part(const T* p, std::int64_t count) {
  T whole[kLanes] = {};
  std::memcpy(whole, p, static_cast<std::size_t>(count) * sizeof(T));
  return load(whole);
}
template <typename T>
inline void store_part(T* p, Vec v, std::int64_t count) {
  T whole[kLanes];
  store(whole, v);
  std::memcpy(p, whole, static_cast<std::size_t>(count) * sizeof(T));
}

// Lanes added in the fixed order of a halving tree: lane i with lane i + half.
inline float sum_lanes(Vec v) {
  float lane[kLanes];
  store(lane, v);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  }
  return lane[0];
}
inline float max_lanes(Vec v) {
  float lane[kLanes];
  store(lane, v);
  float best = lane[0];
  for (std::int64_t i = 1; i < kLanes; ++i) best = lane[i] > best ? lane[i] : best;
  return best;
}

// What a value becomes when it is kept as act: itself, or the nearest bf16.
inline Vec round_as(const float*, Vec v) {
  return v;
}
inline Vec round_as(const Bf16*, Vec v) {
  return round_bf16(v);
}

}  // namespace abba::cpu::ABBA_CPU_ISA
