#include "harness/stats/gate_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"
#include "harness/stats/power.h"

namespace abba::stats {
namespace {

constexpr int kMostConfirmPasses = 100;

double power_of_both(const GatePlan& plan, double effect) {
  return one_sided_power(plan.screen_passes, effect, plan.screen_alpha) *
         one_sided_power(plan.confirm_passes, effect, plan.confirm_alpha);
}

GateColour coloured(const std::vector<double>& values, int passes, double alpha,
                    bool higher_is_better, GateColour if_worse) {
  const double p = worse_p(values, passes, higher_is_better);
  if (p < 0) {
    return GateColour::kNotComparable;
  }
  return p <= alpha ? if_worse : GateColour::kGreen;
}

}  // namespace

GatePlan gate_plan(int workloads) {
  GatePlan plan;
  if (workloads < 1) {
    return {0, 0, 0, 0, 0, 0};
  }
  plan.workloads = workloads;
  plan.confirm_alpha = kDesignedFalseRed / (kScreenAlpha * workloads);
  for (plan.confirm_passes = kScreenPasses; plan.confirm_passes < kMostConfirmPasses;
       plan.confirm_passes += 2) {
    if (power_of_both(plan, kGateEffect) >= kDesignedGatePower) {
      break;
    }
  }
  plan.power = power_of_both(plan, kGateEffect);
  return plan;
}

double worse_p(const std::vector<double>& values, int passes, bool higher_is_better) {
  if (passes < 2 || values.size() < static_cast<std::size_t>(passes) ||
      !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return -1;
  }
  const double error = standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
  if (!(error > 0) || !std::isfinite(error)) {
    return -1;
  }
  const double t = mean(values) / error;
  return student_upper_p(higher_is_better ? -t : t, static_cast<double>(values.size() - 1));
}

GateColour screen(const GatePlan& plan, const std::vector<double>& values, bool higher_is_better) {
  return coloured(values, plan.screen_passes, plan.screen_alpha, higher_is_better,
                  GateColour::kSuspicious);
}

GateColour confirm(const GatePlan& plan, const std::vector<double>& values, bool higher_is_better) {
  return coloured(values, plan.confirm_passes, plan.confirm_alpha, higher_is_better,
                  GateColour::kRed);
}

double gate_sees(const GatePlan& plan, double power) {
  double low = 0;
  double high = 20;
  for (int i = 0; i < 60; ++i) {
    const double mid = 0.5 * (low + high);
    (power_of_both(plan, mid) >= power ? high : low) = mid;
  }
  return high;
}

}  // namespace abba::stats
