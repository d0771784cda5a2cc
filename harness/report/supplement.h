// What stands beside a verdict and decides nothing: quantiles with their intervals, the bootstrap
// as a check of the t interval, and the negative controls. Made from the samples when a document
// is; the same run gives the same numbers.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/stats/bootstrap.h"
#include "harness/stats/negative_controls.h"
#include "harness/stats/quantiles.h"

namespace abba::report {

inline constexpr int kResamples = 2000;

// Of the primary metric in its unit (nanoseconds), pooled over the clean blocks of the passes that
// count.
struct ArmQuantile {
  std::string arm;
  stats::QuantileEstimate estimate;
};

// p50, p95 and p99, each of A and of B; nothing where an arm has no value.
[[nodiscard]] std::vector<ArmQuantile> arm_quantiles(const record::RunRecord& run,
                                                     const std::string& workload);

// Of the slots' medians, kResamples times, seed 1. Not estimable below two passes.
[[nodiscard]] stats::Bootstrap bootstrap_check(const record::RunRecord& run,
                                               const std::string& workload);

// One row for each declared control.
[[nodiscard]] std::vector<stats::ControlRow> control_rows(const record::RunRecord& run,
                                                          const std::string& workload);
// "Negative control parse: still within 2.00 %, +0.1 % (95 % interval -0.4 % to +0.6 %)."
[[nodiscard]] std::string control_text(const record::RunRecord& run, const stats::ControlRow& row);
// "still", "moved", "undecided" or "not recorded".
[[nodiscard]] std::string control_word(stats::ControlState state);

// "1.501 ms to 1.513 ms", or "not estimable: needs n >= 368".
[[nodiscard]] std::string quantile_interval_text(const std::string& metric,
                                                 const stats::QuantileEstimate& estimate);

}  // namespace abba::report
