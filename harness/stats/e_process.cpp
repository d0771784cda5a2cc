#include "harness/stats/e_process.h"

#include <cmath>
#include <cstddef>

namespace abba::stats {

std::vector<double> log_e_process(const std::vector<double>& values, double scale, double rho2) {
  const auto positive = [](double v) { return std::isfinite(v) && v > 0; };
  if (!positive(scale) || !positive(rho2)) {
    return {};
  }
  std::vector<double> result;
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    const double x = value / scale;
    sum += x;
    squares += x * x;
    const double spread = 1 + rho2 * squares;
    const double log_e = 0.5 * (rho2 * sum * (sum / spread) - std::log(spread));
    if (!std::isfinite(log_e)) {
      return {};
    }
    result.push_back(log_e);
  }
  return result;
}

int first_decided(const std::vector<double>& log_e, double alpha) {
  if (!(alpha > 0) || !(alpha < 1)) {
    return -1;
  }
  for (std::size_t i = 0; i < log_e.size(); ++i) {
    if (log_e[i] >= -std::log(alpha)) {
      return static_cast<int>(i) + 1;
    }
  }
  return -1;
}

}  // namespace abba::stats
