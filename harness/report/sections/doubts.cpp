#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/calibration_notes.h"
#include "harness/record/names.h"
#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/notes.h"

namespace abba::report {
namespace {

constexpr std::size_t kShownOfOneCode = 6;

// Notes of the run and of the analysis by code, the gravest first.
std::vector<std::vector<record::Note>> grouped(const Source& source) {
  std::map<std::pair<int, std::string>, std::vector<record::Note>> groups;
  for (const auto* notes : {&source.analysis.notes, &source.run.notes}) {
    for (const record::Note& note : *notes) {
      auto& group = groups[{-static_cast<int>(note.severity), note.code}];
      const auto same = [&](const record::Note& other) {
        return other.where == note.where && other.text == note.text;
      };
      if (std::none_of(group.begin(), group.end(), same)) {
        group.push_back(note);
      }
    }
  }
  std::vector<std::vector<record::Note>> result;
  for (auto& [key, notes] : groups) {
    result.push_back(std::move(notes));
  }
  return result;
}

Line group_line(const std::vector<record::Note>& notes) {
  const record::Note& first = notes.front();
  Line line = {chip(std::string(record::name(first.severity)), tone_of(first.severity)), plain(" "),
               code(first.code), plain(" ")};
  if (const record::NoteEntry* entry = stats::find_note(first.code)) {
    line.push_back(plain(std::string(entry->explanation) + " "));
  }
  for (std::size_t i = 0; i < std::min(notes.size(), kShownOfOneCode); ++i) {
    const record::Note& note = notes[i];
    const std::string where = note.where.empty() ? "" : note.where + ": ";
    line.push_back(plain((i == 0 ? "" : "; ") + where + note.text));
  }
  if (notes.size() > kShownOfOneCode) {
    line.push_back(
        plain(fmt::format("; and {} more in the run file", notes.size() - kShownOfOneCode)));
  }
  return line;
}

}  // namespace

void doubts_section(const Source& source, Document& document) {
  document.heading("Doubts");
  Bullets bullets;
  for (const auto& notes : grouped(source)) {
    bullets.items.push_back(group_line(notes));
  }
  if (bullets.items.empty()) {
    document.paragraph("Nothing was noted.");
  } else {
    document.add(std::move(bullets));
  }
  document.paragraph(
      source.context.calibration.empty()
          ? std::string(record::kNoCalibration) +
                ": no calibration record of this machine class was there when the run began."
          : "Calibration of this harness on this machine: " + source.context.calibration + ".");
}

}  // namespace abba::report
