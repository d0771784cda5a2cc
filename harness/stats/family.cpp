#include "harness/stats/family.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace abba::stats {
namespace {

bool usable(double p) {
  return p >= 0;  // false for NaN too
}

// Positions by rising p, unusable ones last; ties keep the order given.
std::vector<std::size_t> ascending(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return usable(p_values[i]) ? p_values[i] : 2.0; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

LookPlan look_plan(const record::RunRecord& run) {
  LookPlan plan;
  const record::Protocol& protocol = run.manifest.protocol;
  plan.looks = !run.plan.looks.empty() ? run.plan.looks : protocol.looks;
  if (plan.looks.empty()) {
    plan.looks = {protocol.passes};
  }
  std::sort(plan.looks.begin(), plan.looks.end());
  plan.looks.erase(std::unique(plan.looks.begin(), plan.looks.end()), plan.looks.end());
  const double confidence = run.manifest.success.confidence;
  const double alpha = confidence > 0 && confidence < 1 ? 1 - confidence : 0.05;
  plan.look_alpha = alpha / static_cast<double>(plan.looks.size());
  return plan;
}

bool judged_by_disjoint_means(const record::RunRecord& run) {
  return run.manifest.protocol.preset == record::Preset::kTwoPass ||
         run.manifest.success.claim == record::Claim::kDisjointPassMeans;
}

std::vector<HolmRow> holm(const std::vector<double>& p_values, double alpha) {
  const std::size_t m = p_values.size();
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<HolmRow> rows(m);
  bool testing = true;
  double level = alpha;
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = order[k];
    if (testing) {
      level = alpha / static_cast<double>(m - k);
      testing = usable(p_values[i]) && p_values[i] <= level;
    }
    rows[i] = {level, testing};
  }
  return rows;
}

std::vector<BenjaminiHochbergRow> benjamini_hochberg(const std::vector<double>& p_values,
                                                     double rate) {
  const std::size_t m = p_values.size();
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<BenjaminiHochbergRow> rows(m);
  double smallest = 1;
  for (std::size_t k = m; k-- > 0;) {  // from the largest p down: adjusted values only fall
    const std::size_t i = order[k];
    if (usable(p_values[i])) {
      const double scaled = p_values[i] * static_cast<double>(m) / static_cast<double>(k + 1);
      smallest = std::min(smallest, scaled);
      rows[i] = {smallest, smallest <= rate};
    }
  }
  return rows;
}

}  // namespace abba::stats
