#include "harness/report/supplement.h"

#include <fmt/format.h>

#include <utility>

#include "harness/report/format.h"
#include "harness/stats/checks.h"
#include "harness/stats/measured.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

constexpr double kShownQuantiles[] = {0.5, 0.95, 0.99};

std::vector<double> values_of(const record::RunRecord& run, const std::string& workload,
                              const std::string& arm) {
  const stats::Measure measure = stats::primary_measure(run);
  std::vector<double> values;
  for (const record::Pass* pass : stats::counted_passes(run)) {
    for (const record::Block* block : stats::clean_blocks(*pass, workload)) {
      for (const record::Slot& slot : block->slots) {
        if (slot.arm == arm) {
          const auto more = stats::slot_values(slot, *block, measure).values;
          values.insert(values.end(), more.begin(), more.end());
        }
      }
    }
  }
  return values;
}

}  // namespace

std::vector<ArmQuantile> arm_quantiles(const record::RunRecord& run, const std::string& workload) {
  const std::vector<double> a = values_of(run, workload, "A");
  const std::vector<double> b = values_of(run, workload, "B");
  std::vector<ArmQuantile> found;
  if (a.empty() || b.empty()) {
    return found;
  }
  for (const double p : kShownQuantiles) {
    found.push_back({"A", stats::estimate_quantile(a, p)});
    found.push_back({"B", stats::estimate_quantile(b, p)});
  }
  return found;
}

stats::Bootstrap bootstrap_check(const record::RunRecord& run, const std::string& workload) {
  stats::BootstrapOptions options;
  options.resamples = kResamples;
  return stats::hierarchical_bootstrap(
      stats::bootstrap_passes(stats::counted_passes(run), workload, stats::primary_measure(run)),
      options);
}

std::vector<stats::ControlRow> control_rows(const record::RunRecord& run,
                                            const std::string& workload) {
  return stats::negative_controls(run, stats::counted_passes(run), workload,
                                  stats::condition_limit(run));
}

std::string control_word(stats::ControlState state) {
  switch (state) {
    case stats::ControlState::kStill:
      return "still";
    case stats::ControlState::kMoved:
      return "moved";
    case stats::ControlState::kUndecided:
      return "undecided";
    case stats::ControlState::kNotRecorded:
      break;
  }
  return "not recorded";
}

std::string control_text(const record::RunRecord& run, const stats::ControlRow& row) {
  const std::string name = "Negative control " + row.span + ": " + control_word(row.state);
  if (row.state == stats::ControlState::kNotRecorded) {
    return name + " in both arms.";
  }
  const bool still = row.state == stats::ControlState::kStill;
  return name + fmt::format("{} {}, {} (95 % interval {}).", still ? " within" : ", limit",
                            stats::percent(stats::condition_limit(run)).substr(1),
                            stats::percent(row.effect, stats::half_width(row.interval)),
                            stats::interval_text(row.interval));
}

std::string quantile_interval_text(const std::string& metric,
                                   const stats::QuantileEstimate& estimate) {
  return estimate.interval.estimable() ? metric_text(metric, estimate.interval.low) + " to " +
                                             metric_text(metric, estimate.interval.high)
                                       : stats::not_estimable_text(estimate);
}

}  // namespace abba::report
