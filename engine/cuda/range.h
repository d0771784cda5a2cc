// A named stretch of the host's time for a profiler (NVTX): what a request, a boundary or an
// operation launched. Without a tool attached it costs a call through an empty pointer.
#pragma once

namespace abba::cuda {

void begin_range(const char* name);
void end_range();

class Range {
 public:
  explicit Range(const char* name);  // a literal
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range();
};

}  // namespace abba::cuda
