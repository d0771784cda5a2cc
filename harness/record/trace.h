// What a traced worker did on its GPU while it answered a slot's requests: records of the tracer
// (harness/trace), times on the steady clock that samples are on. Rows of whole requests only; how
// many and what else is known of the trace lies in the slot's environment readings, keys below.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace abba::record {

struct TraceKernel {
  std::string name;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t correlation = 0;  // of the call that launched it, or the graph it is part of
  std::int64_t graph_node = 0;   // 0 = not part of a graph
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<std::int64_t, 3> grid = {};
  std::array<std::int64_t, 3> block = {};
  std::int64_t registers = 0;             // a thread
  std::int64_t static_shared_bytes = 0;   // a block
  std::int64_t dynamic_shared_bytes = 0;  // a block
};

struct TraceCopy {
  std::string kind;  // "host-to-device", "device-to-host", "device-to-device", "set", ...
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t correlation = 0;
  std::int64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct TraceApi {  // a call of the CUDA runtime or driver
  std::string name;
  std::int64_t thread = 0;
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct TraceRange {  // named by the program (NVTX); ranges of a thread nest
  std::string name;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// No time of a trace is later, so that no difference or sum of two overflows.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 61U;

struct Trace {  // each in order of its start
  std::vector<TraceKernel> kernels;
  std::vector<TraceCopy> copies;
  std::vector<TraceApi> calls;
  std::vector<TraceRange> ranges;

  [[nodiscard]] std::size_t size() const {
    return kernels.size() + copies.size() + calls.size() + ranges.size();
  }
};

// Keys of a traced slot's readings: what is known of the trace besides its rows.
inline constexpr const char* kTraceStatus = "trace.status";  // text: "complete" or "incomplete"
inline constexpr const char* kTraceMode = "trace.mode";      // text: which records were asked for
inline constexpr const char* kTraceCupti = "trace.cupti";    // value: its version number
inline constexpr const char* kTraceRequests =
    "trace.requests";  // value: requests whose rows are here
inline constexpr const char* kTraceDropped = "trace.dropped";  // value: records the tracer lost
inline constexpr const char* kTraceCut = "trace.cut";          // value: records beyond a bound
inline constexpr const char* kTraceStrange =
    "trace.strange";                                         // value: records without a valid time
inline constexpr const char* kTraceBuffer = "trace.buffer";  // value: bytes

}  // namespace abba::record
