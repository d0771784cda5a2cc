// Location and spread of plain number lists. Every function wants at least one value (ABBA_CHECK)
// and finite values; callers have looked at the data before.
#pragma once

#include <vector>

#include "engine/base/median.h"

namespace abba::stats {

[[nodiscard]] double mean(const std::vector<double>& values);
// With n - 1; 0 for one value.
[[nodiscard]] double standard_deviation(const std::vector<double>& values);
using base::median;
// Linear interpolation between order statistics, type 7 of Hyndman and Fan (1996); 0 <= p <= 1.
[[nodiscard]] double quantile(std::vector<double> values, double p);
// Median absolute deviation from the median, not scaled to a normal sd.
[[nodiscard]] double median_absolute_deviation(const std::vector<double>& values);
// Median of the log of positive values: the default slot summary. The log is taken of the middle
// values only, which gives the same number.
[[nodiscard]] double median_log(std::vector<double> values);
// Hodges-Lehmann (1963): the median of all n(n+1)/2 Walsh averages (x_i + x_j)/2, i <= j. Exact;
// above 512 values the middle averages are found by counting, in O(n log(range)).
[[nodiscard]] double hodges_lehmann(std::vector<double> values);
// The Walsh averages in ascending order, at most 4,000 values.
[[nodiscard]] std::vector<double> walsh_averages(const std::vector<double>& values);

}  // namespace abba::stats
