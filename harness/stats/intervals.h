// Inference over the pass values D_p (log ratios): the primary Student interval and the two
// sensitivity analyses. Results stay on the scale of the values.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/record/verdict.h"

namespace abba::stats {

// mean +- t(1 - alpha/2; n-1) sd / sqrt(n), alpha = 1 - level. Not estimable below two values or
// without any spread.
[[nodiscard]] record::Interval student_interval(const std::vector<double>& values, double level);

// Two-sided p of mean = 0; -1 where the interval is not estimable.
[[nodiscard]] double student_p(const std::vector<double>& values);

// Two one-sided tests (Schuirmann 1987) of low < mean < high: the larger of the two p. -1 where not
// estimable.
[[nodiscard]] double tost_p(const std::vector<double>& values, double low, double high);

// Wilcoxon signed rank, two-sided, exact law given the midranks; zeros leave (Wilcoxon's rule).
// -1 if nothing is left; above 400 values the normal approximation.
[[nodiscard]] double signed_rank_p(const std::vector<double>& values);

// The interval of Walsh averages that inverts that test (Hollander, Wolfe, Chicken 3.3): the
// narrowest whose level is at least `level`. Its `level` is the exact one; not estimable where the
// count is too small (below 6 values at 95 %).
[[nodiscard]] record::Interval signed_rank_interval(const std::vector<double>& values,
                                                    double level);

// Sign-flip randomisation test of |mean|, two-sided: all 2^n sign patterns up to n = 16, else
// 65,536 seeded ones plus the observed (Phipson and Smyth 2010). -1 below six values.
[[nodiscard]] double sign_flip_p(const std::vector<double>& values, std::uint64_t seed = 1);

}  // namespace abba::stats
