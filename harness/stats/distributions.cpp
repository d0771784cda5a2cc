#include "harness/stats/distributions.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/base/error.h"

namespace abba::stats {

double student_quantile(double p, double df) {
  ABBA_CHECK(p > 0 && p < 1 && df >= 1);
  return boost::math::quantile(boost::math::students_t_distribution<double>(df), p);
}

double student_two_sided_p(double t, double df) {
  return std::fmin(1.0, 2 * student_upper_p(std::fabs(t), df));
}

double student_upper_p(double t, double df) {
  ABBA_CHECK(df >= 1 && !std::isnan(t));
  if (std::isinf(t)) {
    return t > 0 ? 0.0 : 1.0;
  }
  return boost::math::cdf(
      boost::math::complement(boost::math::students_t_distribution<double>(df), t));
}

double noncentral_t_upper_p(double t, double df, double shift) {
  ABBA_CHECK(df >= 1 && std::isfinite(t) && !std::isnan(shift));
  constexpr double kFar = 37;  // a standard normal beyond it has less than the smallest double
  if (std::fabs(shift) > kFar && std::fabs(shift) > 4 * std::fabs(t)) {
    return shift > 0 ? 1.0 : 0.0;
  }
  return boost::math::cdf(
      boost::math::complement(boost::math::non_central_t_distribution<double>(df, shift), t));
}

double normal_cdf(double z) {
  return boost::math::cdf(boost::math::normal_distribution<double>(), z);
}

double binomial_cdf(std::int64_t k, std::int64_t n, double p) {
  ABBA_CHECK(n >= 1 && p >= 0 && p <= 1);
  if (k < 0 || k >= n) {
    return k < 0 ? 0.0 : 1.0;
  }
  return boost::math::cdf(boost::math::binomial_distribution<double>(static_cast<double>(n), p),
                          static_cast<double>(k));
}

record::Interval proportion_interval(std::int64_t count, std::int64_t total, double level) {
  ABBA_CHECK(total >= 1 && count >= 0 && count <= total && level > 0 && level < 1);
  using Binomial = boost::math::binomial_distribution<double>;
  const auto n = static_cast<double>(total);
  const auto k = static_cast<double>(count);
  const double tail = (1 - level) / 2;
  return {Binomial::find_lower_bound_on_p(n, k, tail), Binomial::find_upper_bound_on_p(n, k, tail),
          level};
}

std::vector<double> signed_rank_law(const std::vector<int>& doubled_ranks) {
  ABBA_CHECK(doubled_ranks.size() <= 400);
  const int total = std::accumulate(doubled_ranks.begin(), doubled_ranks.end(), 0);
  std::vector<double> law(static_cast<std::size_t>(total) + 1, 0.0);
  law[0] = 1;
  int reached = 0;
  for (const int rank : doubled_ranks) {
    reached += rank;
    for (int s = reached; s >= 0; --s) {  // downwards: law[s - rank] is still the old one
      const double without = law[static_cast<std::size_t>(s)];
      const double with = s >= rank ? law[static_cast<std::size_t>(s - rank)] : 0.0;
      law[static_cast<std::size_t>(s)] = 0.5 * (without + with);
    }
  }
  return law;
}

}  // namespace abba::stats
