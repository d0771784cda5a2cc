#include "engine/base/half.h"

#include <cpuid.h>
#include <immintrin.h>

namespace abba::base {
namespace {

// Every CPU with AVX2 made so far has F16C, but it is a flag of its own, so it is asked for.
bool cpu_has_avx2_and_f16c() {
  static const bool has = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
    return f16c && __builtin_cpu_supports("avx2") != 0;
  }();
  return has;
}

// Each *_avx2 converts the largest multiple of 8 and returns how many elements it did.

__attribute__((target("avx2"))) std::size_t widen_avx2(const Bf16* in, float* out,
                                                       std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), bits);
  }
  return i;
}

__attribute__((target("avx2,f16c"))) std::size_t widen_avx2(const F16* in, float* out,
                                                            std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  return i;
}

// Integer form of to_bf16. The AVX512_BF16 instruction is not used: it flushes subnormals.
__attribute__((target("avx2"))) inline __m128i narrow_to_bf16(__m256i bits) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

__attribute__((target("avx2"))) std::size_t narrow_avx2(const float* in, Bf16* out,
                                                        std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), narrow_to_bf16(bits));
  }
  return i;
}

__attribute__((target("avx2,f16c"))) std::size_t narrow_avx2(const float* in, F16* out,
                                                             std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  return i;
}

__attribute__((target("avx2,f16c"))) std::size_t recode_avx2(const F16* in, Bf16* out,
                                                             std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    const __m256i bits = _mm256_castps_si256(_mm256_cvtph_ps(half));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), narrow_to_bf16(bits));
  }
  return i;
}

}  // namespace

void convert(const Bf16* in, float* out, std::size_t count) {
  std::size_t i = cpu_has_avx2_and_f16c() ? widen_avx2(in, out, count) : 0;
  for (; i < count; ++i) out[i] = to_float(in[i]);
}

void convert(const F16* in, float* out, std::size_t count) {
  std::size_t i = cpu_has_avx2_and_f16c() ? widen_avx2(in, out, count) : 0;
  for (; i < count; ++i) out[i] = to_float(in[i]);
}

void convert(const float* in, Bf16* out, std::size_t count) {
  std::size_t i = cpu_has_avx2_and_f16c() ? narrow_avx2(in, out, count) : 0;
  for (; i < count; ++i) out[i] = to_bf16(in[i]);
}

void convert(const float* in, F16* out, std::size_t count) {
  std::size_t i = cpu_has_avx2_and_f16c() ? narrow_avx2(in, out, count) : 0;
  for (; i < count; ++i) out[i] = to_f16(in[i]);
}

void convert(const F16* in, Bf16* out, std::size_t count) {
  std::size_t i = cpu_has_avx2_and_f16c() ? recode_avx2(in, out, count) : 0;
  for (; i < count; ++i) out[i] = to_bf16(to_float(in[i]));
}

}  // namespace abba::base
