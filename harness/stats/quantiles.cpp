#include "harness/stats/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/base/error.h"
#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"

namespace abba::stats {
namespace {

// Largest l with P(Bin(n, p) < l) <= tail; 0 = there is none.
std::int64_t lower_rank(std::int64_t n, double p, double tail) {
  std::int64_t low = 0;  // P(Bin < 0) = 0
  std::int64_t high = n + 1;
  while (high - low > 1) {
    const std::int64_t mid = low + (high - low) / 2;
    (binomial_cdf(mid - 1, n, p) <= tail ? low : high) = mid;
  }
  return low;
}

}  // namespace

int fewest_for_quantile(double p, double level) {
  ABBA_CHECK(p >= 1e-6 && p <= 1 - 1e-6 && level > 0 && level < 1);
  const double far = std::fmax(p, 1 - p);
  int n = std::max(1, static_cast<int>(std::log((1 - level) / 2) / std::log(far)) - 1);
  while (std::pow(far, n) > (1 - level) / 2) {
    ++n;
  }
  return n;
}

QuantileEstimate estimate_quantile(std::vector<double> values, double p, double level) {
  QuantileEstimate estimate;
  estimate.p = p;
  estimate.needs = fewest_for_quantile(p, level);
  if (values.empty() ||
      !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return estimate;
  }
  const auto n = static_cast<std::int64_t>(values.size());
  estimate.count = n;
  std::sort(values.begin(), values.end());
  estimate.value = quantile(values, p);
  const double tail = (1 - level) / 2;
  const std::int64_t lower = lower_rank(n, p, tail);
  // P(Bin(n,p) >= u) = P(Bin(n,1-p) < n-u+1)
  const std::int64_t upper = n + 1 - lower_rank(n, 1 - p, tail);
  if (lower < 1 || upper > n) {
    return estimate;
  }
  const double reached = binomial_cdf(upper - 1, n, p) - binomial_cdf(lower - 1, n, p);
  estimate.interval = {values[static_cast<std::size_t>(lower - 1)],
                       values[static_cast<std::size_t>(upper - 1)], reached};
  return estimate;
}

std::string not_estimable_text(const QuantileEstimate& estimate) {
  return estimate.interval.estimable()
             ? ""
             : "not estimable: needs n >= " + std::to_string(estimate.needs);
}

}  // namespace abba::stats
