// The quantile of a bootstrap resample without making the resample: only the ranks that it takes
// are drawn. The j-th smallest of n draws from n sorted values is the value at floor(n U), U the
// j-th smallest of n uniforms, which is Beta(j, n + 1 - j); its successor follows from U by the
// Markov property of order statistics (David and Nagaraja, "Order Statistics", 3rd ed., 2.5).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/prng.h"

namespace abba::stats {

// Gamma(shape, 1) by Marsaglia and Tsang (ACM TOMS 26, 2000); shape >= 1.
class GammaLaw {
 public:
  explicit GammaLaw(double shape);
  double draw(base::Random& random) const;

 private:
  double d_;
  double c_;
};

// For slots of `count` values and the quantile p: prepared once, drawn often.
class QuantileDraw {
 public:
  // count >= 1, 0 <= p <= 1.
  QuantileDraw(std::int64_t count, double p);
  // Of a resample of `sorted`, which holds `count` values.
  double draw(const std::vector<double>& sorted, base::Random& random) const;

 private:
  double count_;
  double fraction_;  // between the two order statistics of type 7
  double above_;     // uniforms above the lower one
  GammaLaw below_law_;
  GammaLaw above_law_;
};

}  // namespace abba::stats
