#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/measured.h"
#include "harness/stats/request_parts.h"

namespace abba::report {
namespace {

std::string name_of(const stats::RequestPart& part) {
  const std::string name = part.name.empty() ? "rest of " + part.owner : part.name;
  std::string indent;
  for (int i = 0; i < part.depth; ++i) indent += "· ";
  return indent + name;
}

void add_rows(const std::string& workload, const std::vector<stats::RequestPart>& parts,
              Table& table) {
  for (const stats::RequestPart& part : parts) {
    const double whole = parts.front().a_ns;
    const std::string share = whole > 0 ? fmt::format("{:.2f} %", 100 * part.a_ns / whole) : "";
    table.rows.push_back({plain(workload), plain(name_of(part)), plain(time_text(part.a_ns)),
                          plain(time_text(part.b_ns)), plain(share)});
  }
}

}  // namespace

void parts_section(const Source& source, Document& document) {
  document.heading("Inside a request");
  Table table;
  table.head = {"workload", "part", "A", "B", "share in A"};
  table.first_number = 2;
  const auto passes = stats::counted_passes(source.run);
  for (const record::Workload& workload : source.run.manifest.workloads) {
    add_rows(workload.id, stats::request_parts(passes, workload.id), table);
  }
  if (table.rows.empty()) {
    document.paragraph("The workers recorded no span inside the timed boundary.");
    return;
  }
  document.paragraph(
      "Mean time per measured request, from the totals of all of them: the timed boundary, the "
      "boundaries and spans within it as the worker recorded them, and what they leave "
      "unexplained.");
  document.add(std::move(table));
}

}  // namespace abba::report
