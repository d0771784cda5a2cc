// Screen and confirm: how a gate that must hardly ever cry wolf still sees real slow-downs. Every
// workload is screened; only the suspicious ones are measured again, on new passes in new
// processes, and only what the second look confirms is red. Pure: pass values in, colours out.
#pragma once

#include <string>
#include <vector>

namespace abba::stats {

inline constexpr int kScreenPasses = 6;
inline constexpr double kScreenAlpha = 0.05;  // one-sided, per workload
// A job with nothing wrong may be red this often, and is designed to be red two fifths less often,
// for pass values are not exactly normal.
inline constexpr double kMostFalseRed = 0.0005;
inline constexpr double kDesignedFalseRed = 0.0003;
// A slow-down of this many pass-sd must be found this often, whatever the noise. The passes are
// counted for more, by normal theory: heavy tails cost up to three points (reports/statistics).
inline constexpr double kGateEffect = 2;
inline constexpr double kGatePower = 0.95;
inline constexpr double kDesignedGatePower = 0.98;

struct GatePlan {
  int workloads = 0;
  int screen_passes = kScreenPasses;
  double screen_alpha = kScreenAlpha;
  int confirm_passes = 0;    // new ones; even, so that either arm starts first equally often
  double confirm_alpha = 0;  // one-sided, per workload: designed false red / (screen alpha x m)
  double power = 0;          // of both looks together at kGateEffect pass-sd, noncentral t
};

// The plan for `workloads` (>= 1, else all zero): 10 / 12 / 14 confirm passes up to 1 / 5 / 20. The
// level is divided by the number of workloads (Bonferroni), so that the bound holds however much
// they move together, as long as the confirm passes are new draws.
[[nodiscard]] GatePlan gate_plan(int workloads);

enum class GateColour {
  kGreen,
  kRed,
  kSuspicious,     // screened in and not confirmed yet
  kNotComparable,  // too few passes, a value that is not finite, or no spread
};

// One-sided Student p of "B is worse" from pass values (log ratios B/A); -1 if there are fewer than
// `passes` values, one is not finite, or all are equal.
[[nodiscard]] double worse_p(const std::vector<double>& values, int passes, bool higher_is_better);

// After the screen: green, suspicious or not comparable.
[[nodiscard]] GateColour screen(const GatePlan& plan, const std::vector<double>& values,
                                bool higher_is_better = false);
// Of a suspicious workload, from the new passes alone: green, red or not comparable.
[[nodiscard]] GateColour confirm(const GatePlan& plan, const std::vector<double>& values,
                                 bool higher_is_better = false);

// The smallest slow-down, in pass-sd, that the plan finds with `power`.
[[nodiscard]] double gate_sees(const GatePlan& plan, double power = kGatePower);

}  // namespace abba::stats
