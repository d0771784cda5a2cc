// The median of some figures of a trace: a description, not an estimate (those are harness/stats').
#pragma once

#include <algorithm>
#include <vector>

namespace abba::trace {

// 0 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace abba::trace
