// Choosing the algorithms of matrix products offline: every candidate of the library is timed on
// this device (also what won for another problem), weights cycled through more memory
// than the cache holds, on random data. What comes out are lines for pinned_rows.inc; nothing is
// chosen at run time.
#pragma once

#include <functional>
#include <string>

#include "engine/ops/backend.h"

namespace abba::cuda {

struct PinnedChoice {
  std::string row;        // the line for pinned_rows.inc
  std::string problem;    // for people
  double best_us = 0.0;   // median of a launch
  double first_us = 0.0;  // the library's own first proposal
  int candidates = 0;
};

// The products that `backend` (of cuda::make_backend) has planned so far. Throws base::Error if the
// device fails. `found` is called after each product.
void pin_products(const ops::Backend& backend,
                  const std::function<void(const PinnedChoice&)>& found);

}  // namespace abba::cuda
