// Negative controls: spans of a request that the change cannot touch (the parse of its input, say).
// They must stay equivalent between the arms; one that moves shows that something else differs.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::stats {

enum class ControlState {
  kStill,        // the 90 % interval lies within the limit (two one-sided tests at 5 %)
  kMoved,        // the 95 % interval excludes zero, and the control is not still
  kUndecided,    // neither
  kNotRecorded,  // fewer than two passes hold the span in both arms
};

struct ControlRow {
  std::string span;
  ControlState state = ControlState::kNotRecorded;
  int passes = 0;
  double effect = 0;          // B/A - 1
  record::Interval interval;  // 95 %, of `effect`
};

// One row for each of `success.controls`. A slot counts by the mean of its span a request (from the
// totals over its measured requests); tainted and failed blocks and slots with failures are left
// out. `limit`: a fraction in (0, 1).
[[nodiscard]] std::vector<ControlRow> negative_controls(
    const record::RunRecord& run, const std::vector<const record::Pass*>& passes,
    const std::string& workload, double limit);

}  // namespace abba::stats
