// The division that ends attention, acc / l, for many acc over one l: the reciprocal is made once a
// row. For the host and the device.
#pragma once

#include "engine/cuda/kernels/formulas.h"

namespace abba::cuda {

// numerator / divisor from inverse = reciprocal(divisor), the divisor in [1, 8192] (a row's own
// maximum adds 1 to its sum, and it has at most 8192 keys): one correction of the product by its
// remainder, which gives the rounded quotient wherever that is a normal number (held by a test over
// random values). Infinities and NaN as in a division.
ABBA_BOTH float quotient(float numerator, float divisor, float inverse) {
  const float rough = round_mul(numerator, inverse);
  const float corrected = fused(fused(-rough, divisor, numerator), inverse, rough);
  return std::fabs(rough) < INFINITY ? corrected : rough;
}

}  // namespace abba::cuda
