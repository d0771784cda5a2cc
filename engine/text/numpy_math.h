// exp and log of float32 as numpy computes them on a processor with FMA (its AVX2 and AVX-512 loops
// give the same bits): the original publishes four decimals of what they return, and a correctly
// rounded exp changes one of them in some rows. Cody-Waite range reduction, then a quotient of two
// minimax polynomials, each step one fused multiply-add; at most 2.5 (exp) and 3.9 (log) ulp off,
// the same bits here on every machine.
#pragma once

namespace abba::text {

// Preconditions: `x` is finite and not above 88; below -87 the result may differ in denormal bits.
[[nodiscard]] float numpy_exp(float x);
// Precondition: `x` is positive, finite and normal.
[[nodiscard]] float numpy_log(float x);

}  // namespace abba::text
