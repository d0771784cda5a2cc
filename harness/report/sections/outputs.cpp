#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "harness/record/names.h"
#include "harness/report/format.h"
#include "harness/report/sections/sections.h"

namespace abba::report {
namespace {

std::string number_text(double value) {
  return value < 0 ? "–" : fmt::format("{:.3g}", value);
}

Line check_row(const record::OutputCheck& check) {
  return {plain(check.input),
          plain(check.stage),
          plain(check.arm),
          plain(check.against),
          plain(check.equal ? "equal" : "differs"),
          chip(check.within ? "within" : "beyond", check.within ? Tone::kGood : Tone::kBad),
          plain(number_text(check.nrms)),
          plain(number_text(check.max_abs)),
          plain(number_text(check.ulp)),
          plain(check.first_divergence)};
}

bool fails_reference(const record::RunRecord& run) {
  return std::any_of(run.output_checks.begin(), run.output_checks.end(), [](const auto& check) {
    return check.against == "reference" && !check.within;
  });
}

}  // namespace

void outputs_section(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  document.heading("Outputs");
  document.paragraph(fmt::format("Registered rule: {}.", record::name(run.manifest.outputs.rule)));
  if (run.output_checks.empty()) {
    document.paragraph(
        "No outputs were compared: nothing here shows that the arms compute the same.");
    return;
  }
  const auto within = std::count_if(run.output_checks.begin(), run.output_checks.end(),
                                    [](const auto& check) { return check.within; });
  document.paragraph(
      fmt::format("{} of {} within the rule, checked before any timing.", within,
                  counted(static_cast<std::int64_t>(run.output_checks.size()), "comparison")));
  if (fails_reference(run)) {
    document.paragraph(
        "A stage fails the comparison with the reference. This report therefore "
        "claims no agreement with the reference for either arm.");
  }
  Table table;
  table.head = {"workload", "stage", "arm",     "against", "bitwise",
                "rule",     "nRMS",  "max |d|", "ulp",     "first divergence"};
  table.first_number = 6;
  if (run.output_checks.size() > 12) {
    table.fold = "All comparisons";
  }
  for (const record::OutputCheck& check : run.output_checks) {
    table.rows.push_back(check_row(check));
  }
  document.add(std::move(table));
}

}  // namespace abba::report
