#include "harness/stats/power.h"

#include <cmath>

#include "harness/stats/distributions.h"
#include "harness/stats/family.h"

namespace abba::stats {
namespace {

double detectable(int passes, double sd, double tail, double power_tail) {
  if (passes < 2 || !(sd >= 0)) {
    return -1;
  }
  const double df = passes - 1;
  return (student_quantile(1 - tail, df) + student_quantile(power_tail, df)) * sd /
         std::sqrt(static_cast<double>(passes));
}

// The detectable size falls with the count, so bisection finds the fewest.
int fewest(double wanted, double sd, double tail, double power_tail) {
  if (!(wanted > 0) || !(detectable(kMostPasses, sd, tail, power_tail) <= wanted)) {
    return -1;
  }
  int low = kFewestPasses - 1;
  int high = kMostPasses;
  while (high - low > 1) {
    const int mid = low + (high - low) / 2;
    (detectable(mid, sd, tail, power_tail) <= wanted ? high : low) = mid;
  }
  return high;
}

}  // namespace

double detectable_difference(int passes, double sd, double alpha, double power) {
  return detectable(passes, sd, alpha / 2, power);
}

double detectable_margin(int passes, double sd, double alpha, double power) {
  return detectable(passes, sd, alpha, (1 + power) / 2);  // both sides must succeed
}

int passes_for_difference(double effect, double sd, double alpha, double power) {
  return fewest(effect, sd, alpha / 2, power);
}

int passes_for_equivalence(double margin, double sd, double alpha, double power) {
  return fewest(margin, sd, alpha, (1 + power) / 2);
}

double two_sided_power(int passes, double effect, double alpha) {
  const double size = std::fabs(effect);
  return one_sided_power(passes, size, alpha / 2) + one_sided_power(passes, -size, alpha / 2);
}

double one_sided_power(int passes, double effect, double alpha) {
  if (passes < 2 || !std::isfinite(effect) || !(alpha > 0) || !(alpha < 1)) {
    return 0;
  }
  const double df = passes - 1;
  return noncentral_t_upper_p(student_quantile(1 - alpha, df), df,
                              effect * std::sqrt(static_cast<double>(passes)));
}

}  // namespace abba::stats
