// The coded doubts of the analysis: one table of code, severity and a line for `abba explain`.
// Codes are never reused; N001-N049 belong to statistics, the rest to other layers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/record/note_entry.h"

namespace abba::stats {

inline constexpr std::string_view kTooFewPasses = "N001";
inline constexpr std::string_view kBetweenLooks = "N002";
inline constexpr std::string_view kUnusableTime = "N003";
inline constexpr std::string_view kSlotsMissing = "N004";
inline constexpr std::string_view kUnequalCounts = "N005";
inline constexpr std::string_view kSampleTwice = "N006";
inline constexpr std::string_view kNoVariance = "N007";
inline constexpr std::string_view kTaintRemains = "N008";
inline constexpr std::string_view kNothingMeasured = "N009";
inline constexpr std::string_view kOutputsDiffer = "N010";
inline constexpr std::string_view kManyFailed = "N011";
inline constexpr std::string_view kSomeFailed = "N012";
inline constexpr std::string_view kTaintReplaced = "N013";
inline constexpr std::string_view kPassRerun = "N014";
inline constexpr std::string_view kBlockFailed = "N015";
inline constexpr std::string_view kPassIncomplete = "N016";
inline constexpr std::string_view kSensitivityDisagrees = "N017";
inline constexpr std::string_view kStoppedEarly = "N018";
inline constexpr std::string_view kCannotShowEquivalence = "N019";
inline constexpr std::string_view kNoHarmLimit = "N020";
inline constexpr std::string_view kArmsEqual = "N021";
inline constexpr std::string_view kArmsDifferInAa = "N022";
inline constexpr std::string_view kCarryOver = "N023";
inline constexpr std::string_view kCarryOverUnknown = "N024";
inline constexpr std::string_view kExposureDiffers = "N025";
inline constexpr std::string_view kExposureUnread = "N026";
inline constexpr std::string_view kWorkersReused = "N027";
inline constexpr std::string_view kBothFailReference = "N028";
inline constexpr std::string_view kDisjointIsNoTest = "N029";
inline constexpr std::string_view kP95WithoutInterval = "N030";
inline constexpr std::string_view kDriftRemains = "N031";
inline constexpr std::string_view kInnerTimesPartial = "N032";
inline constexpr std::string_view kPassIndexTwice = "N033";
inline constexpr std::string_view kSeveralFactors = "N034";
inline constexpr std::string_view kNoEvidence = "N035";
inline constexpr std::string_view kBadHarmLimit = "N036";
inline constexpr std::string_view kSlotDigestsDiffer = "N037";
inline constexpr std::string_view kUnknownAnalysis = "N038";
inline constexpr std::string_view kClockStepped = "N039";
inline constexpr std::string_view kControlMoved = "N040";
inline constexpr std::string_view kControlOpen = "N041";
inline constexpr std::string_view kControlUnrecorded = "N042";
inline constexpr std::string_view kInterleavedUnjudged = "N043";
inline constexpr std::string_view kMeansPartFromMedians = "N044";
inline constexpr std::string_view kPowerCapDiffers = "N045";

// All notes that statistics can give, ordered by code.
[[nodiscard]] std::span<const record::NoteEntry> note_table();

// The entry of `code`, or nullptr.
[[nodiscard]] const record::NoteEntry* find_note(std::string_view code);

// A note with the severity of the table; `code` must be in it.
[[nodiscard]] record::Note make_note(std::string_view code, std::string where, std::string text);

}  // namespace abba::stats
