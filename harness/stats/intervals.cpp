#include "harness/stats/intervals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/base/prng.h"
#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"

namespace abba::stats {
namespace {

constexpr std::size_t kExactRanksUpTo = 400;
constexpr std::size_t kExactFlipsUpTo = 16;
constexpr std::size_t kFewestForFlips = 6;
constexpr int kDrawnFlips = 1 << 16;

// Twice the midranks of |values|, so that ties stay integers; `positive` = 2 W+.
struct Ranks {
  std::vector<int> doubled;
  long positive = 0;
};

Ranks rank_magnitudes(std::vector<double> values) {
  std::erase(values, 0.0);
  std::sort(values.begin(), values.end(),
            [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  Ranks ranks;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && std::fabs(values[end]) == std::fabs(values[i])) {
      ++end;
    }
    const int doubled = static_cast<int>(i + 1 + end);  // 2 * ((i+1) + end) / 2
    for (; i < end; ++i) {
      ranks.doubled.push_back(doubled);
      ranks.positive += values[i] > 0 ? doubled : 0;
    }
  }
  return ranks;
}

double normal_rank_p(const Ranks& ranks) {
  double total = 0;
  double squares = 0;
  for (const int r : ranks.doubled) {
    total += r;
    squares += static_cast<double>(r) * r;
  }
  const double z = (static_cast<double>(ranks.positive) - total / 2) / (0.5 * std::sqrt(squares));
  return std::fmin(1.0, 2 * normal_cdf(-std::fabs(z)));
}

// Standard error of the mean, or 0 where no inference is possible.
double standard_error(const std::vector<double>& values) {
  if (values.size() < 2) {
    return 0;
  }
  return standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
}

// A pattern and its opposite have sums of one size, so the first value keeps its sign; each further
// value, added to and taken from the sums so far, doubles their number.
double exact_flips(const std::vector<double>& values, double observed) {
  std::vector<double> sums = {values.front()};
  sums.reserve(std::size_t{1} << (values.size() - 1));
  for (std::size_t i = 1; i < values.size(); ++i) {
    for (std::size_t k = 0, known = sums.size(); k < known; ++k) {
      sums.push_back(sums[k] - values[i]);
      sums[k] += values[i];
    }
  }
  const auto as_large =
      std::count_if(sums.begin(), sums.end(), [&](double s) { return std::fabs(s) >= observed; });
  return static_cast<double>(as_large) / static_cast<double>(sums.size());
}

double drawn_flips(const std::vector<double>& values, double observed, std::uint64_t seed) {
  base::Random random(seed);
  int as_large = 1;  // the observed pattern itself
  for (int draw = 0; draw < kDrawnFlips; ++draw) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      bits = i % 64 == 0 ? random.next_u64() : bits >> 1U;
      sum += (bits & 1U) != 0 ? -values[i] : values[i];
    }
    as_large += std::fabs(sum) >= observed ? 1 : 0;
  }
  return static_cast<double>(as_large) / (kDrawnFlips + 1.0);
}

}  // namespace

record::Interval student_interval(const std::vector<double>& values, double level) {
  const double error = standard_error(values);
  if (!(error > 0) || !(level > 0) || !(level < 1)) {
    return {};
  }
  const double half =
      error * student_quantile(0.5 + level / 2, static_cast<double>(values.size() - 1));
  const double centre = mean(values);
  return {centre - half, centre + half, level};
}

double student_p(const std::vector<double>& values) {
  const double error = standard_error(values);
  return error > 0
             ? student_two_sided_p(mean(values) / error, static_cast<double>(values.size() - 1))
             : -1;
}

double tost_p(const std::vector<double>& values, double low, double high) {
  const double error = standard_error(values);
  if (!(error > 0)) {
    return -1;
  }
  const double df = static_cast<double>(values.size() - 1);
  const double above_low = student_upper_p((mean(values) - low) / error, df);
  const double below_high = student_upper_p((high - mean(values)) / error, df);
  return std::fmax(above_low, below_high);
}

double signed_rank_p(const std::vector<double>& values) {
  const Ranks ranks = rank_magnitudes(values);
  if (ranks.doubled.empty()) {
    return -1;
  }
  if (ranks.doubled.size() > kExactRanksUpTo) {
    return normal_rank_p(ranks);
  }
  const std::vector<double> law = signed_rank_law(ranks.doubled);
  const long total = static_cast<long>(law.size()) - 1;
  const long tail = std::min(ranks.positive, total - ranks.positive);
  double p = 0;
  for (long s = 0; s <= tail; ++s) {
    p += law[static_cast<std::size_t>(s)];
  }
  return std::fmin(1.0, 2 * p);
}

record::Interval signed_rank_interval(const std::vector<double>& values, double level) {
  if (values.empty() || values.size() > kExactRanksUpTo) {
    return {};
  }
  std::vector<int> ranks;  // 1..n: the law without ties, whatever the data
  for (std::size_t i = 0; i < values.size(); ++i) {
    ranks.push_back(static_cast<int>(i) + 1);
  }
  const std::vector<double> law = signed_rank_law(ranks);
  const double alpha = 1 - level;
  double tail = 0;  // P(W <= dropped - 1)
  std::size_t dropped = 0;
  while (2 * (tail + law[dropped]) <= alpha) {
    tail += law[dropped];
    ++dropped;
  }
  if (dropped == 0) {
    return {};
  }
  const std::vector<double> averages = walsh_averages(values);
  return {averages[dropped - 1], averages[averages.size() - dropped], 1 - 2 * tail};
}

double sign_flip_p(const std::vector<double>& values, std::uint64_t seed) {
  if (values.size() < kFewestForFlips) {
    return -1;
  }
  double sum = 0;
  double scale = 0;
  for (const double v : values) {
    sum += v;
    scale += std::fabs(v);
  }
  // The observed pattern must count itself whatever the rounding of another summation order.
  const double observed = std::fabs(sum) - 1e-12 * scale;
  return values.size() <= kExactFlipsUpTo ? exact_flips(values, observed)
                                          : drawn_flips(values, observed, seed);
}

}  // namespace abba::stats
