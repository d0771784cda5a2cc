#include "harness/stats/versions.h"

#include <algorithm>
#include <cmath>

#include "harness/stats/intervals.h"

namespace abba::stats {

std::optional<AnalysisRules> rules_of(const record::RunRecord& run) {
  const std::string_view named = run.analysis_version;
  if (named.empty() || named == kAnalysisVersion) {
    return AnalysisRules{};
  }
  AnalysisRules third;
  third.version = "abba.analysis/3";
  third.equivalence_ends_a_claimed_gain_early = true;
  third.tells_power_caps = false;
  if (named == third.version) {
    return third;
  }
  AnalysisRules second = third;
  second.version = "abba.analysis/2";
  second.shares_conditions_of_interleaved_arms = false;
  second.compares_means_with_medians = false;
  if (named == second.version) {
    return second;
  }
  if (named == "abba.analysis/1") {
    AnalysisRules first = second;
    first.version = "abba.analysis/1";
    first.fewest_for_p95 = 59;
    first.judges_constant_differences = false;
    first.checks_clock_order = false;
    return first;
  }
  return std::nullopt;
}

record::Interval condition_interval(const record::RunRecord& run, const std::vector<double>& values,
                                    double level) {
  const bool constant = values.size() >= 2 && std::isfinite(values.front()) &&
                        std::all_of(values.begin(), values.end(),
                                    [&](double value) { return value == values.front(); });
  if (constant && rules_of(run).value_or(AnalysisRules{}).judges_constant_differences) {
    return {values.front(), values.front(), level};
  }
  return student_interval(values, level);
}

}  // namespace abba::stats
