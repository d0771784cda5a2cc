// What a coded note is: every layer that gives notes has one table of these, ordered by code.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/record/run_record.h"

namespace abba::record {

struct NoteEntry {
  std::string_view code;  // like N012; never reused
  Severity severity;
  std::string_view explanation;  // what it means
  std::string_view advice;       // what to do, one sentence
};

// The entry of `code`, or nullptr.
[[nodiscard]] const NoteEntry* find_note(std::span<const NoteEntry> table, std::string_view code);

// A note with the severity of the table; `code` must be in it (ABBA_CHECK).
[[nodiscard]] Note make_note(std::span<const NoteEntry> table, std::string_view code,
                             std::string where, std::string text);

}  // namespace abba::record
