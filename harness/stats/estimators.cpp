#include "harness/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/base/error.h"

namespace abba::stats {
namespace {

constexpr std::size_t kAllPairsUpTo = 512;

// How many Walsh averages of the sorted values are <= limit.
std::int64_t count_walsh(const std::vector<double>& sorted, double limit) {
  std::int64_t count = 0;
  std::size_t first = 0;
  for (std::size_t j = sorted.size(); j-- > 0;) {  // partners i <= j of sorted[j]
    while (first < sorted.size() && 0.5 * (sorted[first] + sorted[j]) <= limit) {
      ++first;
    }
    count += static_cast<std::int64_t>(std::min(first, j + 1));
  }
  return count;
}

// The k-th smallest Walsh average (k from 1): bisection down to neighbouring doubles.
double nth_walsh(const std::vector<double>& sorted, std::int64_t k) {
  double low = sorted.front();
  double high = sorted.back();
  if (count_walsh(sorted, low) >= k) {
    return low;
  }
  for (;;) {
    const double mid = low + 0.5 * (high - low);
    if (mid <= low || mid >= high) {
      return high;
    }
    (count_walsh(sorted, mid) >= k ? high : low) = mid;
  }
}

}  // namespace

double mean(const std::vector<double>& values) {
  ABBA_CHECK(!values.empty());
  double sum = 0;
  for (const double v : values) {
    sum += v;
  }
  return sum / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) {
    return 0;
  }
  const double centre = mean(values);
  double sum = 0;
  for (const double v : values) {
    sum += (v - centre) * (v - centre);
  }
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double quantile(std::vector<double> values, double p) {
  ABBA_CHECK(!values.empty() && p >= 0 && p <= 1);
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto it = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), it, values.end());
  const double at = *it;
  if (below + 1 == values.size()) {
    return at;
  }
  const double next = *std::min_element(it + 1, values.end());
  return at + (position - static_cast<double>(below)) * (next - at);
}

double median_absolute_deviation(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> distance(values.size());
  std::transform(values.begin(), values.end(), distance.begin(),
                 [centre](double v) { return std::fabs(v - centre); });
  return median(std::move(distance));
}

double median_log(std::vector<double> values) {
  const auto [low, high] = base::middle_values(values);
  return low == high ? std::log(low) : 0.5 * (std::log(low) + std::log(high));
}

std::vector<double> walsh_averages(const std::vector<double>& values) {
  ABBA_CHECK(values.size() <= 4000);
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) {
      averages.push_back(0.5 * (values[i] + values[j]));
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

double hodges_lehmann(std::vector<double> values) {
  ABBA_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  if (values.size() <= kAllPairsUpTo) {
    return median(walsh_averages(values));
  }
  const auto n = static_cast<std::int64_t>(values.size());
  const std::int64_t count = n * (n + 1) / 2;
  const double upper = nth_walsh(values, count / 2 + 1);
  return count % 2 == 1 ? upper : 0.5 * (nth_walsh(values, count / 2) + upper);
}

}  // namespace abba::stats
