// The coded doubts about calibration that a report can carry. N090-N099 belong to this layer; the
// text stands here for `abba explain`.
#pragma once

#include <span>
#include <string_view>

#include "harness/record/note_entry.h"

namespace abba::calibration {

inline constexpr std::string_view kNoRecord = "N090";
inline constexpr std::string_view kStaleRecord = "N091";
inline constexpr std::string_view kFailedRecord = "N092";

// All of them, ordered by code.
[[nodiscard]] std::span<const record::NoteEntry> note_table();

}  // namespace abba::calibration
