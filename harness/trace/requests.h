// Which records are of which request: what a slot keeps of a traced worker's life. Everything else
// (loading, warm-ups, what lies between requests) is left out, and so are whole requests beyond the
// bound, so that a count a request is always of complete requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/trace.h"

namespace abba::trace {

inline constexpr std::size_t kTraceRows = 40'000;  // of a slot, all kinds of records together

// A request's time on the steady clock, its outermost boundary.
struct Window {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Of the slot's measured requests that were answered, in order of time; the first `most` of them.
std::vector<Window> windows_of(const record::Slot& slot, std::size_t most);

struct Kept {
  record::Trace rows;
  std::size_t requests = 0;  // the first so many have all their rows here
  std::size_t cut = 0;       // rows of later requests, beyond the bound
};

// A record is of the request in whose window its middle lies; a range that spans several requests
// is of none. `all` in order of start, as read.
Kept keep_requests(const record::Trace& all, const std::vector<Window>& windows,
                   std::size_t max_rows = kTraceRows);

// Index of the window that holds the record's middle, or windows.size().
std::size_t window_of(const std::vector<Window>& windows, std::int64_t start_ns,
                      std::int64_t end_ns);

}  // namespace abba::trace
