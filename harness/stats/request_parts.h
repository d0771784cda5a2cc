// What a request consists of: the boundaries and spans inside the timed one, as means per request.
// A description, like the tables of times: no conclusion is drawn from it.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"

namespace abba::stats {

struct RequestPart {
  std::string name;   // empty = what is left of the part it belongs to
  std::string owner;  // the part around it; empty for the request itself
  int depth = 0;      // 0 = the request
  double a_ns = 0;    // mean per measured request of the arm
  double b_ns = 0;
};

// The request at its outermost boundary, its parts in the order they were first seen below the part
// that holds them, then what they leave. From the totals that workers give of all measured
// requests; slots with failed requests are left out, since totals do not say whose they are. Empty
// where an arm recorded no span.
[[nodiscard]] std::vector<RequestPart> request_parts(const std::vector<const record::Pass*>& passes,
                                                     const std::string& workload);

}  // namespace abba::stats
