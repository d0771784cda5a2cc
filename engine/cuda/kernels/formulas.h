// The arithmetic of the row-wise kernels on one value at a time, for the device and for the host:
// plain C++ to g++, __host__ __device__ to nvcc, so that unit tests without a GPU run the very
// lines the kernels run. Every multiplication and addition is rounded by itself (round_mul,
// round_add), whatever the compiler's flags say of contraction; fused() is called by name where
// engine/cpu/vector_math.h does, with the same constants: gelu has the bits of the CPU's. A NaN
// comes out of everything it goes into.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ABBA_BOTH __host__ __device__ inline
#else
#define ABBA_BOTH inline
#endif

namespace abba::cuda {

ABBA_BOTH float round_mul(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

ABBA_BOTH float round_add(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

ABBA_BOTH float round_sub(float a, float b) {
  return round_add(a, -b);
}

ABBA_BOTH float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

ABBA_BOTH float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  return __frcp_rn(x);
#else
  return 1.0F / x;
#endif
}

ABBA_BOTH std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

ABBA_BOTH float from_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x = 0.0F;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

// max(0, x): -0 for -0 as on the CPU, a NaN stays one.
ABBA_BOTH float relu(float x) {
  return x < 0.0F ? 0.0F : x;
}

// The rotation of one pair: low = x[d], high = x[d + 32].
ABBA_BOTH float rotate_low(float low, float high, float cosine, float sine) {
  return round_sub(round_mul(low, cosine), round_mul(high, sine));
}
ABBA_BOTH float rotate_high(float low, float high, float cosine, float sine) {
  return round_add(round_mul(high, cosine), round_mul(low, sine));
}

// e^x for x <= 0; 0 from -87.33654 down, a NaN stays one. The integer nearest to x / ln 2 is read
// off a sum with 1.5 * 2^23, which rounds exactly as a conversion would and leaves it in the low
// bits.
ABBA_BOTH float exp_nonpositive(float x) {
  constexpr float kShift = 12582912.0F;
  const float clamped = x < -88.0F ? -88.0F : x;
  float shifted = round_add(round_mul(clamped, 1.44269504F), kShift);
  shifted = shifted < kShift - 126.0F ? kShift - 126.0F : shifted;
  const float n = round_sub(shifted, kShift);
  float r = fused(n, -0.693359375F, clamped);
  r = fused(n, 2.12194440e-4F, r);
  float p = 1.0F / 5040.0F;
  p = fused(p, r, 1.0F / 720.0F);
  p = fused(p, r, 1.0F / 120.0F);
  p = fused(p, r, 1.0F / 24.0F);
  p = fused(p, r, 1.0F / 6.0F);
  p = fused(p, r, 0.5F);
  p = fused(p, r, 1.0F);
  p = fused(p, r, 1.0F);
  const float power_of_two = from_bits((bits_of(shifted) << 23U) + (127U << 23U));
  return x <= -87.33654F ? 0.0F : round_mul(p, power_of_two);
}

// x Phi(x) with the exact (erf) Phi; method and error bounds: engine/cpu/vector_math.h, whose bits
// it has for every finite x. gelu(inf) = inf, gelu(-inf) is a NaN, as x/2 (1 + erf(x / sqrt 2)).
ABBA_BOTH float gelu(float x) {
  const float a = std::fabs(x);
  const float t = reciprocal(fused(a, 0.3F, 1.0F));
  float p = 0.0372896977F;
  p = fused(p, t, -0.164110586F);
  p = fused(p, t, 0.218736276F);
  p = fused(p, t, -0.0657855198F);
  p = fused(p, t, 0.135585114F);
  p = fused(p, t, 0.0974446386F);
  p = fused(p, t, 0.121265434F);
  p = fused(p, t, 0.119572379F);
  p = fused(p, t, 2.59846843e-06F);
  const float q = round_mul(p, exp_nonpositive(round_mul(round_mul(a, a), -0.5F)));
  const float tail = round_mul(x, q);
  if (!(x >= 0.0F)) return tail;
  return q == 0.0F ? x : round_sub(x, tail);
}

// As a tree: equal values add up without rounding.
ABBA_BOTH float sum_of_4(const float (&v)[4]) {
  return round_add(round_add(v[0], v[1]), round_add(v[2], v[3]));
}

// gain * ((x - mean) * scale) [+ bias], `centered` = x - mean.
ABBA_BOTH float scale_centered(float centered, float scale, float gain) {
  return round_mul(gain, round_mul(centered, scale));
}

// Statistics of a row from its sums: of x; then, of d = x - mean, of d and of d * d. The sum of d
// is zero but for the rounding of `mean`; taking it out makes a row of n equal values give exact
// zeros (a mean that is an ulp of 3e4 off would give 0.6) and costs one more number in the second
// reduction.
struct RowStatistics {
  float shift = 0.0F;  // to be subtracted from every d
  float scale = 0.0F;  // 1 / sqrt(variance + epsilon)
};
ABBA_BOTH RowStatistics row_statistics(float sum_of_d, float sum_of_squares, float n,
                                       float epsilon) {
  RowStatistics row;
  row.shift = sum_of_d / n;
  const float about_mean = round_sub(sum_of_squares, round_mul(sum_of_d, row.shift)) / n;
  const float variance = about_mean < 0.0F ? 0.0F : about_mean;  // a NaN stays one
  row.scale = 1.0F / std::sqrt(round_add(variance, epsilon));
  return row;
}

}  // namespace abba::cuda
