// What a plan can see: normal-theory sizes for the mean of P pass values with standard deviation
// sd, by (t(1 - a) + t(power)) sd / sqrt(P). Within one pass of the noncentral t (10 / 13 passes
// for one sd at 80 / 90 % power, 11 / 13 for equivalence).
#pragma once

namespace abba::stats {

inline constexpr double kPlannedPower = 0.8;
inline constexpr int kMostPasses = 10000;  // beyond it "needed" is unknown

// Smallest true difference (log scale) found with that power at two-sided `alpha`; -1 if P < 2.
[[nodiscard]] double detectable_difference(int passes, double sd, double alpha,
                                           double power = kPlannedPower);
// Smallest margin within which a true zero is shown with that power, each side at `alpha`.
[[nodiscard]] double detectable_margin(int passes, double sd, double alpha,
                                       double power = kPlannedPower);
// Fewest passes (at least 6) that find `effect`, or show a zero within `margin`; -1 if more than
// kMostPasses or the argument is not positive.
[[nodiscard]] int passes_for_difference(double effect, double sd, double alpha,
                                        double power = kPlannedPower);
[[nodiscard]] int passes_for_equivalence(double margin, double sd, double alpha,
                                         double power = kPlannedPower);

// Exact: how often a true difference of `effect` pass-sd is found by the t-test of `passes` pass
// values, two-sided at `alpha` (either direction counts) or one-sided. Noncentral t with P - 1
// degrees of freedom and noncentrality effect sqrt(P). 0 below two passes; 0 < alpha < 1.
[[nodiscard]] double two_sided_power(int passes, double effect, double alpha);
[[nodiscard]] double one_sided_power(int passes, double effect, double alpha);

}  // namespace abba::stats
