#include <fmt/format.h>

#include <string>

#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/report/supplement.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

Line summary_row(const record::ArmSummary& s, const std::string& metric, bool with_pass) {
  Line row;
  if (with_pass) {
    row.push_back(plain("pass " + std::to_string(s.pass + 1)));
  }
  row.push_back(plain(s.arm));
  row.push_back(plain(count_text(s.count)));
  row.push_back(plain(count_text(s.failures)));
  for (const double value : {s.mean, s.median, s.p95, s.min, s.mad}) {
    row.push_back(plain(metric_text(metric, value)));
  }
  return row;
}

Table summary_table(const record::Verdict& verdict, bool pooled) {
  Table table;
  table.head = {"arm", "requests", "failed", "mean", "median", "p95", "min", "MAD"};
  if (!pooled) {
    table.head.insert(table.head.begin(), "pass");
    table.first_number = 2;
    table.fold = "Per pass";
  }
  for (const record::ArmSummary& summary : verdict.summaries) {
    if ((summary.pass == -1) == pooled) {
      table.rows.push_back(summary_row(summary, verdict.metric, !pooled));
    }
  }
  return table;
}

Table quantile_table(const record::RunRecord& run, const record::Verdict& verdict) {
  Table table;
  table.head = {"quantile", "arm", "requests", "value", "interval", "level"};
  table.first_number = 2;
  for (const ArmQuantile& row : arm_quantiles(run, verdict.workload)) {
    const stats::QuantileEstimate& estimate = row.estimate;
    table.rows.push_back(
        {plain(fmt::format("p{:g}", 100 * estimate.p)), plain(row.arm),
         plain(count_text(estimate.count)), plain(metric_text(verdict.metric, estimate.value)),
         plain(quantile_interval_text(verdict.metric, estimate)),
         plain(estimate.interval.estimable() ? stats::level_text(estimate.interval.level) : "–")});
  }
  return table;
}

}  // namespace

void times_section(const Source& source, Document& document) {
  document.heading("Times");
  document.paragraph(
      "Description of the requests, pooled over passes and per pass. No conclusion is drawn from "
      "these tables: requests of one process are not independent, and the intervals of quantiles, "
      "which take them so, are at their narrowest. Nothing is trimmed.");
  for (const record::Verdict& verdict : source.analysis.verdicts) {
    const std::string boundary = verdict.boundary.empty() ? "" : ", boundary " + verdict.boundary;
    document.heading(verdict.workload + " (" + verdict.metric + boundary + ")", 3);
    if (verdict.summaries.empty()) {
      document.paragraph("No measured request.");
      continue;
    }
    document.add(summary_table(verdict, true));
    document.add(quantile_table(source.run, verdict));
    document.add(summary_table(verdict, false));
  }
}

void samples_section(const Source& source, Document& document) {
  document.heading("All samples");
  document.add(Figure{svg_samples(source.run), source.context.samples_svg,
                      "All measured samples in time order, coloured by arm. Above 20,000 points a "
                      "workload is drawn as the smallest to the largest of each pixel column; "
                      "every number of this report comes from all samples."});
}

}  // namespace abba::report
