// Traces as a Chrome trace, the JSON that Perfetto and chrome://tracing open: one process a slot,
// with a row for its requests, one a thread for ranges and calls, and one a stream for kernels and
// copies. The same rows give the same bytes. Times begin at each slot's first request, so that arms
// lie one above the other.
#pragma once

#include <string>
#include <vector>

#include "harness/record/trace.h"
#include "harness/trace/requests.h"

namespace abba::trace {

struct Shown {
  std::string title;  // "A short_1"
  const record::Trace& trace;
  std::vector<Window> windows;
};

std::string perfetto_json(const std::vector<Shown>& slots);

}  // namespace abba::trace
