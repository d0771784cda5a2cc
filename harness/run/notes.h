// The coded doubts and facts that carrying out a run can add: one table of code, severity and a
// line for `abba explain`. Codes are never reused; N050-N089 belong to this layer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/record/later_pass_notes.h"
#include "harness/record/note_entry.h"

namespace abba::run {

inline constexpr std::string_view kOutputsNotChecked = "N050";
inline constexpr std::string_view kParityBlocked = "N051";
inline constexpr std::string_view kSlotDigestsDiffer = "N052";
inline constexpr std::string_view kDigestUnsteady = "N053";
inline constexpr std::string_view kBlockTainted = "N054";
inline constexpr std::string_view kBlockRepeated = "N055";
inline constexpr std::string_view kWorkerFailed = "N056";
inline constexpr std::string_view kPassSuperseded = "N057";
inline constexpr std::string_view kStoppedAtLook = "N058";
inline constexpr std::string_view kStopped = "N059";
inline constexpr std::string_view kResumed = "N060";
inline constexpr std::string_view kRequestsFailed = "N061";
inline constexpr std::string_view kCpusShared = "N062";
inline constexpr std::string_view kNotCompared = "N063";
inline constexpr std::string_view kSpanOutside = "N064";
inline constexpr std::string_view kBindingChanged = "N065";
inline constexpr std::string_view kRegisteredJustNow = "N066";
inline constexpr std::string_view kMachineChanged = "N067";
inline constexpr std::string_view kDeviceDisagrees = "N068";
inline constexpr std::string_view kDeviceUnconfirmed = "N069";
inline constexpr std::string_view kDeviceUnchecked = "N070";
inline constexpr std::string_view kStaleReservation = "N071";
inline constexpr std::string_view kOwnCounts = "N072";
using record::kLaterPassFailed;
using record::kLaterPassUnable;
inline constexpr std::string_view kRebuilt = "N080";
inline constexpr std::string_view kOtherMachine = "N081";

// All of them, ordered by code.
[[nodiscard]] std::span<const record::NoteEntry> note_table();

// A note with the severity of the table; `code` must be in it (ABBA_CHECK).
[[nodiscard]] record::Note make_note(std::string_view code, std::string where, std::string text);

}  // namespace abba::run
