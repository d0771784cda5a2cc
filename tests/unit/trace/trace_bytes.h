// Trace files made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/trace/trace_format.h"

namespace abba::testing {

class TraceBytes {
 public:
  explicit TraceBytes(std::uint32_t version = trace::kTraceVersion);

  template <typename Record>
  TraceBytes& add(trace::RecordType type, const Record& record) {
    return raw(static_cast<std::uint32_t>(type),
               {reinterpret_cast<const char*>(&record), sizeof record});
  }
  TraceBytes& raw(std::uint32_t type, std::string_view payload);
  TraceBytes& info(std::string_view key, std::string_view value);
  TraceBytes& name(std::uint32_t id, std::string_view text);
  TraceBytes& clock(std::int64_t trace_ns, std::int64_t steady_ns);
  TraceBytes& kernel(std::uint32_t name, std::uint64_t start_ns, std::uint64_t end_ns,
                     std::uint32_t correlation = 1);
  TraceBytes& marker(std::uint32_t id, trace::MarkerPhase phase, std::uint64_t time_ns,
                     std::uint32_t name = 0);
  TraceBytes& end(const trace::EndRecord& end = {});

  std::string bytes;
};

}  // namespace abba::testing
