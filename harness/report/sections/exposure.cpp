#include "harness/stats/exposure.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/report/sections/sections.h"
#include "harness/stats/measured.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

using stats::ExposureRow;
using stats::ExposureScale;

std::string value_text(const ExposureRow& row, double value) {
  return row.scale == ExposureScale::kShare ? fmt::format("{:.2f} %", 100 * value)
                                            : fmt::format("{:.1f} {}", value, row.unit);
}

std::string interval_text(const ExposureRow& row) {
  if (row.shared) {
    return "shared by the arms";
  }
  if (!row.interval.estimable()) {
    return "not estimable";
  }
  if (row.scale == ExposureScale::kRatio) {
    return stats::interval_text(stats::to_fraction(row.interval));
  }
  if (row.scale == ExposureScale::kShare) {
    return stats::interval_text(row.interval);
  }
  return fmt::format("{:+.2f} to {:+.2f} {}", row.interval.low, row.interval.high, row.unit);
}

void add_rows(const std::string& workload, const std::vector<ExposureRow>& rows, Table& summary,
              Table& by_pass) {
  for (const ExposureRow& row : rows) {
    summary.rows.push_back({plain(workload), plain(row.what), plain(value_text(row, row.a)),
                            plain(value_text(row, row.b)), plain(interval_text(row)),
                            plain(row.limit < 0 ? "shown only" : stats::percent(row.limit))});
    for (const stats::ExposurePass& pass : row.passes) {
      by_pass.rows.push_back({plain(workload), plain(row.what),
                              plain(std::to_string(pass.index + 1)), plain(value_text(row, pass.a)),
                              plain(value_text(row, pass.b))});
    }
  }
}

}  // namespace

void exposure_section(const Source& source, Document& document) {
  document.heading("Conditions of the arms");
  Table summary;
  summary.head = {"workload", "condition", "A", "B", "B minus A, 95 %", "limit"};
  summary.first_number = 2;
  Table by_pass;
  by_pass.head = {"workload", "condition", "pass", "A", "B"};
  by_pass.first_number = 2;
  by_pass.fold = "Conditions pass by pass";
  const auto passes = stats::counted_passes(source.run);
  for (const record::Workload& workload : source.run.manifest.workloads) {
    add_rows(workload.id, stats::exposure(source.run, passes, workload.id), summary, by_pass);
  }
  if (summary.rows.empty()) {
    document.paragraph("No reading of the environment belongs to the slots of both arms.");
    return;
  }
  document.paragraph(
      "Means over passes of what was read around and during the slots. A limit makes the workload "
      "invalid when the whole interval lies beyond it.");
  document.add(std::move(summary));
  document.add(std::move(by_pass));
}

}  // namespace abba::report
