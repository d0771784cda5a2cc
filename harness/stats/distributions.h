// Student's t and the exact law of the signed-rank sum: the only file pair that meets Boost.Math.
#pragma once

#include <vector>

namespace abba::stats {

// x with P(T <= x) = p for Student's t; 0 < p < 1, df >= 1 (ABBA_CHECK).
[[nodiscard]] double student_quantile(double p, double df);

// P(|T| >= |t|); 0 for an infinite t. df >= 1.
[[nodiscard]] double student_two_sided_p(double t, double df);

// P(T >= t).
[[nodiscard]] double student_upper_p(double t, double df);

// P(Z <= z) of the standard normal.
[[nodiscard]] double normal_cdf(double z);

// Law of the sum of the positively signed members of `doubled_ranks` (2 x midranks, integers) under
// independent fair signs: element s is P(sum == s). Exact by convolution, as in Hollander, Wolfe,
// Chicken, "Nonparametric Statistical Methods" (3rd ed.), section 3.1. At most 400 ranks.
[[nodiscard]] std::vector<double> signed_rank_law(const std::vector<int>& doubled_ranks);

}  // namespace abba::stats
