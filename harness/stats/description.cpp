#include "harness/stats/description.h"

#include <algorithm>
#include <utility>

#include "harness/stats/estimators.h"

namespace abba::stats {

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
