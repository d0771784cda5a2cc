// One traced process: asks CUPTI for records from the moment it is made, writes them as their
// buffers fill, and ends the file in finish(). A thread pairs CUPTI's clock with the steady clock
// all the while, since CUPTI's (the system's date) may be slewed. It never throws and never ends
// the process: what goes wrong becomes a sentence on stderr and the file's status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/trace/collect/cupti_api.h"

namespace abba::trace {

inline constexpr std::size_t kTraceBufferBytes = std::size_t{4} << 20U;

// Begins; later calls of a process do nothing. `cupti`: the library's path or name. Does not return
// a status, since whoever injected this is not there to read it.
void begin_trace(const std::string& path, const std::string& cupti);
// The same over functions that are there already: what tests use.
void begin_trace_with(const std::string& path, const CuptiApi& api);
// Flushes, writes the last record and closes the file; does nothing in a forked child, or twice.
void finish_trace();

}  // namespace abba::trace
