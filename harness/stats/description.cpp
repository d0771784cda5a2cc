#include "harness/stats/description.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "harness/stats/estimators.h"

namespace abba::stats {

int fewest_for_quantile(double p) {
  ABBA_CHECK(p > 0 && p < 1);
  int n = 1;
  while (std::pow(p, n) + std::pow(1 - p, n) > 0.05) {
    ++n;
  }
  return n;
}

record::ArmSummary describe(std::string arm, int pass, std::vector<double> values,
                            std::int64_t failures) {
  record::ArmSummary summary;
  summary.arm = std::move(arm);
  summary.pass = pass;
  summary.count = static_cast<std::int64_t>(values.size());
  summary.failures = failures;
  summary.mean = mean(values);
  summary.min = *std::min_element(values.begin(), values.end());
  summary.median = median(values);
  summary.mad = median_absolute_deviation(values);
  summary.p95 = quantile(std::move(values), 0.95);
  return summary;
}

}  // namespace abba::stats
