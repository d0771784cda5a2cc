#include <fmt/format.h>

#include <string>

#include "harness/report/sections/sections.h"

namespace abba::report {
namespace {

const record::Identity* row_of(const record::RunRecord& run, std::string_view source,
                               std::string_view key) {
  for (const record::Identity& row : run.identity) {
    if (row.source == source && row.key == key) {
      return &row;
    }
  }
  return nullptr;
}

// What this run found where the reference says to look; null if that was not read.
const record::Identity* found_here(const record::RunRecord& run, const std::string& what) {
  const record::Identity* pointer = row_of(run, record::kReferenceHere, what);
  if (pointer == nullptr) {
    return nullptr;
  }
  const auto bar = pointer->value.find('|');
  return row_of(run, pointer->value.substr(0, bar), pointer->value.substr(bar + 1));
}

}  // namespace

bool is_reference(const record::Identity& row) {
  return row.source == record::kReferenceStated || row.source == record::kReferenceHere ||
         row.source == record::kReferenceTitle;
}

void reference_section(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  for (const record::Identity& row : run.identity) {
    if (row.source == record::kReferenceTitle) {
      document.heading("Beside a reference environment");
      document.paragraph(Line{plain("Stated in "), code(row.key), plain(": " + row.value)});
    }
  }
  Table table;
  table.head = {"what", "the reference states", "this run", ""};
  table.first_number = 4;
  int different = 0;
  for (const record::Identity& row : run.identity) {
    if (row.source != record::kReferenceStated) {
      continue;
    }
    const record::Identity* here = found_here(run, row.key);
    const bool same = here != nullptr && here->value == row.value;
    different += here != nullptr && !same ? 1 : 0;
    table.rows.push_back({plain(row.key), plain(row.value),
                          plain(here == nullptr ? "not recorded here" : here->value),
                          plain(here == nullptr ? "–"
                                : same          ? "same"
                                                : "differs")});
  }
  if (table.rows.empty()) {
    return;
  }
  document.add(std::move(table));
  document.paragraph(fmt::format(
      "{} of these differ. Times of this run and of the reference must not be compared as if they "
      "came from one machine.",
      different));
}

}  // namespace abba::report
