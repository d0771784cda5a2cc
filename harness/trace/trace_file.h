// Reads what the tracer wrote (trace_format.h). The file was written inside a worker of somebody:
// nothing in it is trusted. A file that is no trace, of another version, too large or damaged is
// Error(kBadInput) in one sentence; one that was cut off (the worker was killed) is read up to
// there and says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/trace.h"
#include "harness/trace/trace_format.h"

namespace abba::trace {

struct TraceFile {
  std::map<std::string, std::string> info;  // by key; the last of a key counts
  std::vector<std::string> lacking;         // kinds of records that were refused, and why
  bool complete = false;                    // has its last record
  EndRecord end = {};                       // zeros where it was cut off
  std::vector<ClockRecord> clock;           // in order of trace_ns
  record::Trace records;                    // in order of start; on the steady clock
};

// `where` names the file in messages.
TraceFile parse_trace(std::string_view bytes, const std::string& where);
TraceFile read_trace_file(const std::string& path);

// What the trace lacks, in one sentence; empty = nothing.
std::string lack_of(const TraceFile& file);

// A time of the tracer's clock on the steady clock: by the line through the nearest two pairs, or
// beyond them by the nearest one; with no pair the time itself. `clock` in order of trace_ns.
std::int64_t to_steady(const std::vector<ClockRecord>& clock, std::int64_t trace_ns);

}  // namespace abba::trace
