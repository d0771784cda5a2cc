#include "engine/base/median.h"

#include <algorithm>
#include <cstddef>

#include "engine/base/error.h"

namespace abba::base {

std::pair<double, double> middle_values(std::vector<double>& values) {
  ABBA_CHECK(!values.empty());
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  if (values.size() % 2 == 1) {
    return {*mid, *mid};
  }
  return {*std::max_element(values.begin(), mid), *mid};
}

double median(std::vector<double> values) {
  const auto [low, high] = middle_values(values);
  return low == high ? low : 0.5 * (low + high);
}

}  // namespace abba::base
