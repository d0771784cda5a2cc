#include "harness/stats/rank_draw.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/base/error.h"

namespace abba::stats {
namespace {

// 0-based rank of the lower order statistic of type 7.
double lower_rank(std::int64_t count, double p) {
  return std::floor(p * static_cast<double>(count - 1));
}

std::size_t index_of(double uniform, double count) {
  return static_cast<std::size_t>(std::min(std::floor(uniform * count), count - 1));
}

}  // namespace

GammaLaw::GammaLaw(double shape) : d_(shape - 1.0 / 3), c_(1 / std::sqrt(9 * d_)) {
  ABBA_CHECK(shape >= 1);
}

double GammaLaw::draw(base::Random& random) const {
  for (;;) {
    const double x = random.normal();
    const double root = 1 + c_ * x;
    if (root <= 0) {
      continue;
    }
    const double v = root * root * root;
    const double u = 1 - random.uniform();  // never 0
    const double squeeze = x * x;
    if (u < 1 - 0.0331 * squeeze * squeeze ||
        std::log(u) < 0.5 * squeeze + d_ * (1 - v + std::log(v))) {
      return d_ * v;
    }
  }
}

QuantileDraw::QuantileDraw(std::int64_t count, double p)
    : count_(static_cast<double>(count)),
      fraction_(p * static_cast<double>(count - 1) - lower_rank(count, p)),
      above_(static_cast<double>(count) - lower_rank(count, p) - 1),
      below_law_(lower_rank(count, p) + 1),
      above_law_(static_cast<double>(count) - lower_rank(count, p)) {
  ABBA_CHECK(count >= 1 && p >= 0 && p <= 1);
}

double QuantileDraw::draw(const std::vector<double>& sorted, base::Random& random) const {
  const double below = below_law_.draw(random);
  const double above = above_law_.draw(random);
  const double uniform = below / (below + above);
  const double lower = sorted[index_of(uniform, count_)];
  if (fraction_ == 0) {
    return lower;
  }
  // The smallest of the `above_` uniforms that remain lies at 1 - V^(1/above) of what is left.
  const double next = uniform + (1 - uniform) * (1 - std::pow(1 - random.uniform(), 1 / above_));
  return lower + fraction_ * (sorted[index_of(next, count_)] - lower);
}

}  // namespace abba::stats
