#include "harness/stats/distributions.h"

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

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
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
