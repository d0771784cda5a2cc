// Distribution functions and the exact law of the signed-rank sum: the only file pair that meets
// Boost.Math.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/record/verdict.h"

namespace abba::stats {

// x with P(T <= x) = p for Student's t; 0 < p < 1, df >= 1 (ABBA_CHECK).
[[nodiscard]] double student_quantile(double p, double df);

// P(|T| >= |t|); 0 for an infinite t. df >= 1.
[[nodiscard]] double student_two_sided_p(double t, double df);

// P(T >= t).
[[nodiscard]] double student_upper_p(double t, double df);

// P(T' >= t) of the noncentral t with noncentrality `shift`. df >= 1; far out, where the series
// would not converge, the answer is 0 or 1.
[[nodiscard]] double noncentral_t_upper_p(double t, double df, double shift);

// P(Z <= z) of the standard normal.
[[nodiscard]] double normal_cdf(double z);

// P(X <= k) of the binomial; 0 below 0 and 1 from n on. n >= 1, 0 <= p <= 1 (ABBA_CHECK).
[[nodiscard]] double binomial_cdf(std::int64_t k, std::int64_t n, double p);

// Exact limits of a proportion from `count` of `total` (Clopper and Pearson 1934). total >= 1,
// 0 <= count <= total, 0 < level < 1 (ABBA_CHECK).
[[nodiscard]] record::Interval proportion_interval(std::int64_t count, std::int64_t total,
                                                   double level);

// Law of the sum of the positively signed members of `doubled_ranks` (2 x midranks, integers) under
// independent fair signs: element s is P(sum == s). Exact by convolution, as in Hollander, Wolfe,
// Chicken, "Nonparametric Statistical Methods" (3rd ed.), section 3.1. At most 400 ranks.
[[nodiscard]] std::vector<double> signed_rank_law(const std::vector<int>& doubled_ranks);

}  // namespace abba::stats
