// The coded doubts of the analysis: one table of code, severity and a line for `abba explain`.
// Codes are never reused; N001-N049 belong to statistics, the rest to other layers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/record/note_entry.h"

namespace abba::stats {

// All notes that statistics can give, ordered by code.
[[nodiscard]] std::span<const record::NoteEntry> note_table();

// The entry of `code`, or nullptr.
[[nodiscard]] const record::NoteEntry* find_note(std::string_view code);

// A note with the severity of the table; `code` must be in it.
[[nodiscard]] record::Note make_note(std::string_view code, std::string where, std::string text);

}  // namespace abba::stats
