#include "harness/plan/cost.h"

#include <algorithm>
#include <cstdio>

#include "harness/plan/make_plan.h"
#include "harness/plan/sizing.h"

namespace abba::plan {
namespace {

constexpr double kBytesPerSample = 40;
constexpr double kBytesPerSlot = 4000;        // environment readings before and after, digests
constexpr double kBytesOfARun = 400'000;      // schema, declarations, output checks
constexpr double kSecondsPerSlot = 0.005;     // messages, environment readings, commit
constexpr double kBytesPerTrace = 1'000'000;  // of a slot: some thousand rows
constexpr double kRequestsPerCapture =
    10;  // first run, warm runs, first replay, and what is not one

double request_ns_of(const record::Manifest& manifest, const CostAssumptions& assumptions,
                     const std::string& workload) {
  const auto known = assumptions.request_ns.find(workload);
  if (known != assumptions.request_ns.end()) {
    return known->second;
  }
  if (assumptions.other_request_ns > 0) {
    return assumptions.other_request_ns;
  }
  const auto& rule = manifest.protocol.slot;
  const double requests = static_cast<double>(std::max<std::int64_t>(1, rule.min_requests));
  return std::max(1.0, rule.min_ms) * 1e6 / requests;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f" : "%.0f", value);
  return text;
}

std::string duration(double seconds) {
  return seconds < 120 ? number(seconds) + " s" : number(seconds / 60) + " minutes";
}

// Seconds of a pass after the measured ones without its starts. What a capture or a tracer adds
// nobody knows before.
double later_seconds(const record::Manifest& manifest, const record::PlannedPass& pass,
                     const CostAssumptions& assumptions) {
  double seconds = 0;
  for (const auto& block : pass.blocks) {
    const record::SlotCounts traced = trace_counts(manifest, block.workload);
    const double requests = pass.phase == record::Phase::kTrace
                                ? static_cast<double>(traced.warmup + traced.requests)
                                : kRequestsPerCapture;
    seconds +=
        slot_count(block) * requests * request_ns_of(manifest, assumptions, block.workload) * 1e-9;
  }
  return seconds;
}

double slots_of(const record::PlannedPass& pass) {
  double slots = 0;
  for (const auto& block : pass.blocks) {
    slots += slot_count(block);
  }
  return slots;
}

CheaperPlan alternative(const record::Manifest& changed, const CostAssumptions& assumptions,
                        std::string change, std::string loses) {
  return {std::move(change), std::move(loses), cost_of(changed, make_plan(changed), assumptions)};
}

double minutes(const record::PlanCost& cost) {
  return cost.start_minutes + cost.measuring_minutes;
}

}  // namespace

record::PlanCost cost_of(const record::Manifest& manifest, const record::Plan& plan,
                         const CostAssumptions& assumptions) {
  record::PlanCost cost;
  double starts = 2;
  double seconds = 0;
  double bytes = kBytesOfARun;
  for (const auto& pass : plan.passes) {
    if (record::is_later(pass.phase)) {  // no request of it is a sample
      starts += static_cast<double>(pass.start_order.size());
      seconds += later_seconds(manifest, pass, assumptions);
      bytes += pass.phase == record::Phase::kTrace ? kBytesPerTrace * slots_of(pass) : 0;
      continue;
    }
    const auto placement = manifest.protocol.placement;
    const bool alone = placement == record::Placement::kOneAtATime;
    const int together = placement == record::Placement::kSharedProcess ? 1 : 2;
    starts += pass.fresh_workers && !alone ? together : 0;
    for (const auto& block : pass.blocks) {
      const double request_ns = request_ns_of(manifest, assumptions, block.workload);
      const auto counts = size_slot(manifest.protocol.slot, block.workload, request_ns, request_ns);
      const double interval_ns = manifest.protocol.arrival == record::Arrival::kPaced
                                     ? std::max(request_ns, manifest.protocol.interval_ms * 1e6)
                                     : request_ns;
      const auto per_slot = static_cast<double>(counts.warmup + counts.requests);
      const int slots = slot_count(block);
      starts += alone ? slots : 0;
      cost.requests += slots * (counts.warmup + counts.requests);
      seconds += slots * (per_slot * interval_ns * 1e-9 + manifest.protocol.idle_gap_ms * 1e-3 +
                          kSecondsPerSlot);
      bytes += slots * (per_slot * kBytesPerSample + kBytesPerSlot);
    }
  }
  cost.start_minutes = starts * assumptions.worker_start_s / 60;
  cost.measuring_minutes = seconds / 60;
  cost.megabytes = bytes / 1e6;
  return cost;
}

std::vector<std::string> limits_exceeded(const record::Manifest& manifest,
                                         const record::PlanCost& cost) {
  const auto& limits = manifest.protocol.limits;
  std::vector<std::string> reasons;
  const double wall_s = minutes(cost) * 60;
  if (wall_s > limits.max_wall_s) {
    reasons.push_back("the plan takes about " + duration(wall_s) +
                      " and limits.max_wall_s allows " + duration(limits.max_wall_s));
  }
  if (cost.requests > limits.max_requests) {
    reasons.push_back("the plan makes about " + std::to_string(cost.requests) +
                      " requests and limits.max_requests allows " +
                      std::to_string(limits.max_requests));
  }
  return reasons;
}

std::vector<CheaperPlan> cheaper_plans(const record::Manifest& manifest,
                                       const CostAssumptions& assumptions) {
  std::vector<CheaperPlan> plans;
  if (manifest.protocol.preset == record::Preset::kTwoPass) {
    return plans;
  }
  record::Manifest changed = manifest;
  auto& protocol = changed.protocol;
  if (protocol.blocks > 1) {
    protocol.blocks = protocol.blocks / 2;
    plans.push_back(alternative(changed, assumptions,
                                "\"blocks\": " + std::to_string(protocol.blocks),
                                "can claim the same; each pass is noisier, so the smallest effect "
                                "it finds grows (by up to 1.4 times)"));
  }
  if (manifest.protocol.passes > 6) {
    protocol.passes = 6;
    protocol.looks = {6};
    plans.push_back(alternative(
        changed, assumptions,
        "\"blocks\": " + std::to_string(protocol.blocks) + ", \"passes\": 6, \"looks\": [6]",
        "has no second look: what is undecided after 6 passes stays "
        "inconclusive, and the smallest effect it finds grows by about "
        "1.6 times"));
  }
  if (manifest.protocol.preset != record::Preset::kQuick) {
    changed.protocol = manifest.protocol;
    protocol.preset = record::Preset::kQuick;
    protocol.passes = std::min(6, manifest.protocol.passes);
    protocol.looks = {protocol.passes};
    protocol.blocks = std::min(2, manifest.protocol.blocks);
    plans.push_back(alternative(changed, assumptions, "\"preset\": \"quick\"",
                                "can no longer say improved, regressed or equivalent: only "
                                "faster, slower or no difference seen"));
  }
  const double now = minutes(cost_of(manifest, make_plan(manifest), assumptions));
  std::erase_if(plans, [&](const CheaperPlan& plan) { return minutes(plan.cost) >= now; });
  std::stable_sort(plans.begin(), plans.end(), [](const CheaperPlan& x, const CheaperPlan& y) {
    return minutes(x.cost) > minutes(y.cost);
  });
  return plans;
}

}  // namespace abba::plan
