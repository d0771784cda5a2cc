#include "engine/checkpoint/draw.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "engine/base/error.h"
#include "engine/base/sha256.h"

namespace abba::checkpoint {
namespace {

// 1 / sqrt(8 (65536^2 - 1) / 12), the sum of eight independent uniforms on 0..65535.
constexpr double kInverseDeviation = 1.0 / 53509.9198;
constexpr std::int32_t kMeanSum = 8 * 65535 / 2;

__attribute__((target("avx2"))) inline __m256i low_words(__m256i even, __m256i odd) {
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

__attribute__((target("avx2"))) inline __m256i high_words(__m256i even, __m256i odd) {
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

// Sums of halves for the eight counters (low + 0..7, high, 0, 0); low + 7 must not wrap.
__attribute__((target("avx2"))) inline __m256i sum_of_halves(std::uint32_t low, std::uint32_t high,
                                                             base::PhiloxKey key) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i multiplier_a = _mm256_set1_epi32(static_cast<int>(0xD2511F53U));
  const __m256i multiplier_b = _mm256_set1_epi32(static_cast<int>(0xCD9E8D57U));
  __m256i x0 = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(low)), lanes);
  __m256i x1 = _mm256_set1_epi32(static_cast<int>(high));
  __m256i x2 = _mm256_setzero_si256();
  __m256i x3 = _mm256_setzero_si256();
  for (int round = 0; round < 10; ++round) {
    const __m256i a_even = _mm256_mul_epu32(x0, multiplier_a);
    const __m256i a_odd = _mm256_mul_epu32(_mm256_srli_epi64(x0, 32), multiplier_a);
    const __m256i b_even = _mm256_mul_epu32(x2, multiplier_b);
    const __m256i b_odd = _mm256_mul_epu32(_mm256_srli_epi64(x2, 32), multiplier_b);
    const __m256i key0 = _mm256_set1_epi32(static_cast<int>(key[0]));
    const __m256i key1 = _mm256_set1_epi32(static_cast<int>(key[1]));
    x0 = _mm256_xor_si256(_mm256_xor_si256(high_words(b_even, b_odd), x1), key0);
    x1 = low_words(b_even, b_odd);
    x2 = _mm256_xor_si256(_mm256_xor_si256(high_words(a_even, a_odd), x3), key1);
    x3 = low_words(a_even, a_odd);
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  const __m256i mask = _mm256_set1_epi32(0xffff);
  __m256i sum = _mm256_setzero_si256();
  for (const __m256i word : {x0, x1, x2, x3}) {
    sum = _mm256_add_epi32(sum, _mm256_and_si256(word, mask));
    sum = _mm256_add_epi32(sum, _mm256_srli_epi32(word, 16));
  }
  return sum;
}

// Writes the largest multiple of 8 elements as floats; returns how many.
__attribute__((target("avx2"))) std::size_t draw_avx2(base::PhiloxKey key, std::uint64_t first,
                                                      std::size_t count, Distribution from,
                                                      float* out) {
  const __m256 mean = _mm256_set1_ps(from.mean);
  const __m256 scale = _mm256_set1_ps(from.scale);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t index = first + i;
    const auto low = static_cast<std::uint32_t>(index);
    if (low > 0xfffffff8U) break;  // the counter's words wrap inside these eight: left to draw()
    const __m256i sum = sum_of_halves(low, static_cast<std::uint32_t>(index >> 32U), key);
    const __m256 centred = _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(kMeanSum)));
    _mm256_storeu_ps(out + i, _mm256_add_ps(mean, _mm256_mul_ps(scale, centred)));
  }
  return i;
}

float draw_float(base::PhiloxKey key, std::uint64_t index, Distribution from) {
  const base::PhiloxCounter counter = {static_cast<std::uint32_t>(index),
                                       static_cast<std::uint32_t>(index >> 32U), 0, 0};
  std::int32_t sum = 0;
  for (const std::uint32_t word : base::philox4x32_10(counter, key)) {
    sum += static_cast<std::int32_t>((word & 0xffffU) + (word >> 16U));
  }
  const float scaled = from.scale * static_cast<float>(sum - kMeanSum);
  return from.mean + scaled;
}

}  // namespace

Distribution distribution(double mean, double standard_deviation) {
  return {static_cast<float>(mean), static_cast<float>(standard_deviation * kInverseDeviation)};
}

base::PhiloxKey tensor_key(std::uint64_t seed, std::string_view name) {
  const std::string digest =
      base::sha256_hex("abba synthetic\n" + std::to_string(seed) + "\n" + std::string(name));
  base::PhiloxKey key = {};
  for (std::size_t word = 0; word < 2; ++word) {
    const char* digits = digest.data() + 8 * word;
    const auto parsed = std::from_chars(digits, digits + 8, key[word], 16);
    ABBA_CHECK(parsed.ec == std::errc{});
  }
  return key;
}

base::F16 draw(base::PhiloxKey key, std::uint64_t index, Distribution from) {
  return base::to_f16(draw_float(key, index, from));
}

void draw(base::PhiloxKey key, std::uint64_t first, std::size_t count, Distribution from,
          base::F16* out) {
  constexpr std::size_t kPiece = 1024;
  const bool wide = __builtin_cpu_supports("avx2") != 0;
  std::array<float, kPiece> piece;
  for (std::size_t begin = 0; begin < count; begin += kPiece) {
    const std::size_t size = std::min(kPiece, count - begin);
    std::size_t i = wide ? draw_avx2(key, first + begin, size, from, piece.data()) : 0;
    for (; i < size; ++i) piece[i] = draw_float(key, first + begin + i, from);
    base::convert(piece.data(), out + begin, size);
  }
}

}  // namespace abba::checkpoint
