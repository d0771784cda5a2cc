// How far two output tensors are apart, element by element. Pure.
#pragma once

#include <string>

#include "harness/record/worker.h"

namespace abba::run {

struct TensorDifference {
  bool comparable = false;  // same dtype and shape, values present on both sides
  double nrms = -1;         // rms(a - ref) / rms(ref); infinite if ref is all zero and a is not
  double max_abs = -1;
  double ulp = -1;  // largest distance in steps of the tensor's own dtype; -1 for integers
  std::string first_divergence;  // "[1, 5]: 0.25 against 0.5", or empty
};

// `a` against `reference`. A NaN equals only a NaN; against a number the distance is infinite.
TensorDifference difference(const record::OutputTensor& a, const record::OutputTensor& reference);

}  // namespace abba::run
