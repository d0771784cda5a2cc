#include "harness/stats/family.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace abba::stats {

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
  const auto usable = [&](std::size_t i) { return p_values[i] >= 0; };  // false for NaN too
  std::vector<std::size_t> order(m);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double pa = usable(a) ? p_values[a] : 2;
    const double pb = usable(b) ? p_values[b] : 2;
    return pa < pb;
  });
  std::vector<HolmRow> rows(m);
  bool testing = true;
  double level = alpha;
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = order[k];
    if (testing) {
      level = alpha / static_cast<double>(m - k);
      testing = usable(i) && p_values[i] <= level;
    }
    rows[i] = {level, testing};
  }
  return rows;
}

}  // namespace abba::stats
