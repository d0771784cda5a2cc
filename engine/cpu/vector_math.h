// exp and the exact (erf) GELU on vectors, ours because a call of libm per element would cost more
// than the matrix products leave over. Errors below are against double, measured over all the
// ranges by tests/unit/cpu/vector_math_test.cpp, which also holds them there.
#pragma once

#include "engine/cpu/simd.h"

namespace abba::cpu::ABBA_CPU_ISA {

// e^x for x <= 0, relative error <= 2e-7; 0 below -87.33654 (where e^x is no normal float), so -inf
// gives 0; a NaN stays one. x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts; e^r by its
// Taylor polynomial of degree 7, whose remainder is below r^8 / 8! = 6e-9.
inline Vec exp_nonpositive(Vec x) {
  const Vec clamped = max(broadcast(-88.0F), x);
  const Vec n = round_to_integer(mul(clamped, broadcast(1.44269504F)));
  const Vec n_in_range = max(broadcast(-126.0F), n);
  Vec r = fma(n_in_range, broadcast(-0.693359375F), clamped);
  r = fma(n_in_range, broadcast(2.12194440e-4F), r);
  Vec p = broadcast(1.0F / 5040.0F);
  p = fma(p, r, broadcast(1.0F / 720.0F));
  p = fma(p, r, broadcast(1.0F / 120.0F));
  p = fma(p, r, broadcast(1.0F / 24.0F));
  p = fma(p, r, broadcast(1.0F / 6.0F));
  p = fma(p, r, broadcast(0.5F));
  p = fma(p, r, broadcast(1.0F));
  p = fma(p, r, broadcast(1.0F));
  const Vec result = mul(p, power_of_two(n_in_range));
  return select_ge(broadcast(-87.33654F), x, broadcast(0.0F), result);
}

// x Phi(x) = x / 2 (1 + erf(x / sqrt 2)). With a = |x|, the upper tail Q(a) = erfc(a / sqrt 2) / 2
// is exp(-a^2 / 2) R(a), and R is smooth: the polynomial of degree 8 in t = 1 / (1 + 0.3 a) through
// the Chebyshev nodes of a in [0, 13.3] is within 1.2e-7 of it (3.1e-7 in float). Then x - x Q or x
// Q, so that the negative tail keeps its relative accuracy: <= 4e-7 for x >= -1, growing with the
// rounding of a^2 to <= 8e-6 at x = -13; 0 (or -0) below. Not for infinities.
inline Vec gelu(Vec x) {
  const Vec a = absolute(x);
  const Vec t = div(broadcast(1.0F), fma(a, broadcast(0.3F), broadcast(1.0F)));
  Vec p = broadcast(0.0372896977F);
  p = fma(p, t, broadcast(-0.164110586F));
  p = fma(p, t, broadcast(0.218736276F));
  p = fma(p, t, broadcast(-0.0657855198F));
  p = fma(p, t, broadcast(0.135585114F));
  p = fma(p, t, broadcast(0.0974446386F));
  p = fma(p, t, broadcast(0.121265434F));
  p = fma(p, t, broadcast(0.119572379F));
  p = fma(p, t, broadcast(2.59846843e-06F));
  const Vec tail = mul(x, mul(p, exp_nonpositive(mul(mul(a, a), broadcast(-0.5F)))));
  return select_ge(x, broadcast(0.0F), sub(x, tail), tail);
}

}  // namespace abba::cpu::ABBA_CPU_ISA
