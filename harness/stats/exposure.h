// What the arms were exposed to, paired A against B over passes. Some conditions have a limit that
// is judged, the others are shown: a difference in power or heat between arms is a finding about
// them, not a disturbance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::stats {

// Of SM clocks, as a ratio of the arms.
inline constexpr double kClockLimit = 0.01;
// Foreign plus stolen CPU time, as a share of the slots' wall time, A against B.
inline constexpr double kForeignCpuLimit = 0.02;

enum class ExposureScale {
  kRatio,    // interval is of log(B/A)
  kShare,    // of wall time; interval is of B - A
  kAbsolute  // interval is of B - A in `unit`
};

inline constexpr std::string_view kSmClock = "SM clock";
inline constexpr std::string_view kPowerCapped = "power-capped time";

struct ExposurePass {
  int index = 0;
  double a = 0;  // mean over the arm's slots
  double b = 0;
};

struct ExposureRow {
  std::string what;  // "SM clock"
  std::string unit;  // of a and b: "MHz", "share", ...
  ExposureScale scale = ExposureScale::kAbsolute;
  double limit = -1;  // judged when the whole interval lies beyond it; negative = only shown
  // Read for both arms together (they ran interleaved): there is no interval, and nothing is
  // judged.
  bool shared = false;
  std::vector<ExposurePass> passes;
  double a = 0;  // mean over passes
  double b = 0;
  record::Interval interval;  // 95 %, condition_interval over passes
};

// Conditions that were read in both arms; tainted and failed blocks are left out. Readings of a
// device count only from under load (during and right after a slot), not from the idle gap before.
// By the rules of the version that the run names.
[[nodiscard]] std::vector<ExposureRow> exposure(const record::RunRecord& run,
                                                const std::vector<const record::Pass*>& passes,
                                                const std::string& workload);

}  // namespace abba::stats
