// The middle of a plain list of numbers.
#pragma once

#include <utility>
#include <vector>

namespace abba::base {

// The two middle values, the same one twice for an odd count; reorders `values`, which holds at
// least one (ABBA_CHECK). No NaN.
[[nodiscard]] std::pair<double, double> middle_values(std::vector<double>& values);

// Their average.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace abba::base
