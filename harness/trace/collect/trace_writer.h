// Writes a trace file (trace_format.h), record by record, and never more than its bound. Knows
// nothing of CUPTI. A failure to write is kept as a sentence and ends the writing; nothing is
// thrown but std::bad_alloc. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/trace/trace_format.h"

namespace abba::trace {

class TraceWriter {
 public:
  // Makes the file, which must not exist: a second process that inherited the variable must not
  // write into the first one's.
  explicit TraceWriter(const std::string& path, std::uint64_t max_bytes = kTraceFileBytes);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Empty, or one sentence why nothing (more) is written.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  void info(std::string_view key, std::string_view value);
  void clock(const ClockRecord& pair);
  void kernel(const KernelRecord& record) { bounded(RecordType::kKernel, record); }
  void copy(const CopyRecord& record) { bounded(RecordType::kCopy, record); }
  void api(const ApiRecord& record) { bounded(RecordType::kApi, record); }
  void marker(const MarkerRecord& record) { bounded(RecordType::kMarker, record); }
  // The id of a text, written before its first use and cut to kTraceNameBytes; ids begin at 1.
  std::uint32_t name(std::string_view text);
  // Hands what was written so far to the system.
  void flush();
  // The last record; `cut` is filled in. Closes the file.
  void end(EndRecord end);

 private:
  [[nodiscard]] bool fits(std::size_t bytes);
  void append(RecordType type, std::string_view head, std::string_view tail = {},
              std::string_view end = {});
  template <typename Record>
  void bounded(RecordType type, const Record& record) {
    if (fits(sizeof record)) {
      append(type, {reinterpret_cast<const char*>(&record), sizeof record});
    }
  }

  std::string path_;
  int file_ = -1;
  std::uint64_t max_bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t cut_ = 0;
  std::string pending_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::string failure_;
};

}  // namespace abba::trace
