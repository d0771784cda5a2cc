// The coded doubts that a report can carry about the calibration of its harness, N090-N099. They
// stand here because report and cli both give them, and neither knows the other's layer.
#pragma once

#include <span>
#include <string_view>

#include "harness/record/note_entry.h"

namespace abba::record {

inline constexpr std::string_view kNoCalibration = "N090";
inline constexpr std::string_view kStaleCalibration = "N091";
inline constexpr std::string_view kFailedCalibration = "N092";

// All of them, ordered by code.
[[nodiscard]] std::span<const NoteEntry> calibration_notes();

}  // namespace abba::record
