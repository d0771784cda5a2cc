// A run and its analysis as documents. Reads data, measures nothing and changes nothing: the same
// input gives the same bytes. Every string that came from outside is escaped for the format it
// enters. Numbers always come from all samples; only the drawing is thinned, and says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::report {

// What a report must say that is not in the run file.
struct ReportContext {
  std::vector<std::string> commands;  // the exact commands to reproduce, in order
  std::string standing;               // of `verify`, e.g. "internally consistent, not anchored"
  std::int64_t attempts_before = -1;  // earlier runs of this manifest known here (a lower bound)
  std::string run_file_digest;        // SHA-256, or empty
  std::string calibration;            // "false positives 8 of 200, ...", or empty (none known)
  std::string samples_svg;            // file name of svg_samples() beside the Markdown, or empty
  bool color = false;                 // summary_text: ANSI colours
  int width = 80;                     // summary_text: columns of the terminal
};

// The report for people: verdict first, then why, how, on what, and what it does not show.
[[nodiscard]] std::string markdown(const record::RunRecord& run, const record::Analysis& analysis,
                                   const ReportContext& context);

// The same as one self-contained page: no script, no outside resource, light and dark.
[[nodiscard]] std::string html(const record::RunRecord& run, const record::Analysis& analysis,
                               const ReportContext& context);

// All measured samples of one workload in time order, coloured by arm; above 20,000 points the
// drawing keeps the smallest and largest of each pixel column. An empty `workload` draws every
// workload, one panel each. Stands alone as an SVG file.
[[nodiscard]] std::string svg_samples(const record::RunRecord& run,
                                      const std::string& workload = "");

// Pass effects of one verdict as dots, with the deciding interval, zero and the harm limit.
[[nodiscard]] std::string svg_pass_effects(const record::RunRecord& run,
                                           const record::Verdict& verdict);

// The analysis for programs, schema "abba.report/1", pretty-printed.
[[nodiscard]] std::string json(const record::RunRecord& run, const record::Analysis& analysis,
                               const ReportContext& context);

// A run with what statistics conclude of it.
struct Judged {
  const record::RunRecord& run;
  const record::Analysis& analysis;
};
// Two runs of one change under different plans, claims side by side, as Markdown. Throws
// Error(kBadInput) if their independent variables or arms differ.
[[nodiscard]] std::string beside(const Judged& x, const Judged& y);

// A few lines for the end of `abba run`.
[[nodiscard]] std::string summary_text(const record::RunRecord& run,
                                       const record::Analysis& analysis,
                                       const ReportContext& context);

}  // namespace abba::report
