// A quantile with an interval that assumes no distribution, or "not estimable: needs n". The
// samples are taken as independent; inside one pass they are not, so the interval is then at its
// narrowest and the count needed at its lowest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/verdict.h"

namespace abba::stats {

// Fewest values for which a two-sided interval of the p-quantile exists: both max(p, 1-p)^n, the
// chance that no value lies beyond it, and the other tail are at most (1 - level)/2. 95 %: 72 for
// p95, 368 for p99. 1e-6 <= p <= 1 - 1e-6, 0 < level < 1 (ABBA_CHECK).
[[nodiscard]] int fewest_for_quantile(double p, double level = 0.95);

struct QuantileEstimate {
  double p = 0;
  std::int64_t count = 0;     // usable values; 0 if there is none or one is not finite
  double value = 0;           // type 7 of Hyndman and Fan (1996), as `quantile`
  record::Interval interval;  // order statistics, at the level they reach; else not estimable
  int needs = 0;              // fewest_for_quantile
};

// The interval [x_(l), x_(u)] with the largest l and smallest u for which each of P(Bin(n,p) < l)
// and P(Bin(n,p) >= u) is at most (1 - level)/2 (David and Nagaraja, "Order Statistics", 3rd ed.,
// section 7.1). Never narrower than asked for.
[[nodiscard]] QuantileEstimate estimate_quantile(std::vector<double> values, double p,
                                                 double level = 0.95);

// "12.3 to 14.0" is the caller's business; this is the other half: "not estimable: needs n >= 368".
[[nodiscard]] std::string not_estimable_text(const QuantileEstimate& estimate);

}  // namespace abba::stats
