#include "harness/record/note_entry.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace abba::record {

const NoteEntry* find_note(std::span<const NoteEntry> table, std::string_view code) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const NoteEntry& entry) { return entry.code == code; });
  return found == table.end() ? nullptr : &*found;
}

Note make_note(std::span<const NoteEntry> table, std::string_view code, std::string where,
               std::string text) {
  const NoteEntry* entry = find_note(table, code);
  ABBA_CHECK(entry != nullptr);
  return {std::string(code), entry->severity, std::move(where), std::move(text)};
}

}  // namespace abba::record
