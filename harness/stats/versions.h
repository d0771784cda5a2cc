// The analysis is versioned: a run names the version it was measured under and is judged by it for
// ever, so that a published verdict never changes. A rule that could change a published number gets
// a new version and stands here, beside the one it replaces.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::stats {

// Of new runs; stands in every run file and report.
inline constexpr std::string_view kAnalysisVersion = "abba.analysis/4";

struct AnalysisRules {
  std::string_view version = kAnalysisVersion;
  // From this count on a p95 is shown without N030. Version 1 asked for 59, which is enough for a
  // one-sided bound only.
  int fewest_for_p95 = 72;
  // Conditions that differ by exactly the same amount in every pass are judged as that amount;
  // version 1 found them "not estimable" (unless rounding gave them some spread) and judged
  // nothing.
  bool judges_constant_differences = true;
  // Requests of one slot that start out of order, or a slot that ends before it starts (N039).
  bool checks_clock_order = true;
  // Interleaved arms share a block's conditions, whichever slot the readings are stored under: they
  // are shown for both arms, judged for neither, and N043 says so. Version 2 took them for those of
  // the arm that began the block, and compared blocks with blocks.
  bool shares_conditions_of_interleaved_arms = true;
  // N044 says where ranges of pass means lie on the other side than the medians.
  bool compares_means_with_medians = true;
  // A look ends a run of claim `faster` early when a direction is shown, not when equivalence is: a
  // gain well inside the harm limit is equivalent after few passes and a gain after more. Version 3
  // ended at either, and found a change of 0.5 % under a limit of 2 % in half of the runs it does.
  bool equivalence_ends_a_claimed_gain_early = false;
  // N045 says where an arm was power-capped for more of the time, with the difference in cycles.
  bool tells_power_caps = true;
};

// The rules that `run` names; the newest if it names none (a record that no run file holds).
// Nothing if this program does not know the version.
[[nodiscard]] std::optional<AnalysisRules> rules_of(const record::RunRecord& run);

// Student's interval of a condition (exposure, carry-over). Clocks and shares are read in steps, so
// that all passes can differ by exactly the same amount, at least two of them: then the interval is
// that amount, not "not estimable".
[[nodiscard]] record::Interval condition_interval(const record::RunRecord& run,
                                                  const std::vector<double>& values, double level);

}  // namespace abba::stats
