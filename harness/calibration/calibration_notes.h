// The coded doubts about calibration that a report can carry. N090-N099 belong to this layer; the
// text stands here for `abba explain`.
#pragma once

#include <span>
#include <string_view>

#include "harness/record/run_record.h"

namespace abba::calibration {

struct NoteEntry {
  std::string_view code;
  record::Severity severity;
  std::string_view explanation;  // what it means
  std::string_view advice;       // what to do, one sentence
};

inline constexpr std::string_view kNoRecord = "N090";
inline constexpr std::string_view kStaleRecord = "N091";
inline constexpr std::string_view kFailedRecord = "N092";

// All of them, ordered by code.
[[nodiscard]] std::span<const NoteEntry> note_table();

}  // namespace abba::calibration
