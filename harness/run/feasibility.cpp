#include "harness/run/feasibility.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/plan/cost.h"
#include "harness/plan/sizing.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using Durations = std::map<std::string, std::pair<double, double>>;  // workload -> (A, B), ns

// The first full requests, answered for readiness: colder than what follows, but the only clue
// before anything was timed. Unknown ones count as what fills min_ms with min_requests.
Durations first_requests(const Session& session) {
  const auto& rule = session.in.manifest.protocol.slot;
  const double unknown =
      rule.min_ms * 1e6 / static_cast<double>(std::max<std::int64_t>(1, rule.min_requests));
  Durations durations;
  for (const auto& workload : session.in.manifest.workloads) {
    double ns[2] = {unknown, unknown};
    for (int arm = 0; arm < 2; ++arm) {
      const auto prepared = session.record.prepared.find((arm == 0 ? "A/" : "B/") + workload.id);
      if (prepared != session.record.prepared.end() && prepared->second.first_request_ns > 0) {
        ns[arm] = prepared->second.first_request_ns;
      }
    }
    durations[workload.id] = {ns[0], ns[1]};
  }
  return durations;
}

Durations measured_requests(const record::Pass& pass, const Durations& otherwise) {
  Durations durations = otherwise;
  for (auto& [workload, ns] : durations) {
    const double a = plan::typical_request_ns(pass, workload, "A");
    const double b = plan::typical_request_ns(pass, workload, "B");
    if (a < 0 || b < 0) {
      throw Error(ErrorCode::kBroken, workload,
                  "no request of arm " + std::string(a < 0 ? "A" : "B") +
                      " was answered in the feasibility pass; see the worker's last lines in "
                      "the run file");
    }
    ns = {a, b};
  }
  return durations;
}

CountsByWorkload sized(const Session& session, const Durations& durations) {
  CountsByWorkload counts;
  for (const auto& [workload, ns] : durations) {
    counts[workload] =
        plan::size_slot(session.in.manifest.protocol.slot, workload, ns.first, ns.second);
  }
  return counts;
}

void require_fits(Session& session, const Durations& durations) {
  plan::CostAssumptions assumptions;
  assumptions.worker_start_s = session.start_s / 2;
  for (const auto& [workload, ns] : durations) {
    assumptions.request_ns[workload] = std::max(ns.first, ns.second);
  }
  const auto cost = plan::cost_of(session.in.manifest, session.in.plan, assumptions);
  const auto reasons = plan::limits_exceeded(session.in.manifest, cost);
  if (reasons.empty()) {
    return;
  }
  std::string advice;
  for (const auto& cheaper : plan::cheaper_plans(session.in.manifest, assumptions)) {
    advice += "; cheaper: " + cheaper.change + ", which " + cheaper.loses;
  }
  throw Error(ErrorCode::kPreflight, "limits",
              base::join(reasons, "; ") +
                  "; nothing was measured. Raise the limit or shorten the plan" + advice);
}

void bind_counts(Session& session, const CountsByWorkload& counts) {
  store::Facts facts;
  for (const auto& [workload, count] : counts) {
    facts.counts.push_back(count);
    facts.bindings.push_back({"counts/" + workload,
                              std::to_string(count.warmup) + "+" + std::to_string(count.requests)});
  }
  session.commit("feasibility", facts);
}

}  // namespace

Feasibility run_feasibility(Session& session, Arms& arms) {
  Feasibility result;
  if (!session.record.counts.empty()) {
    for (const auto& counts : session.record.counts) {
      result.counts[counts.workload] = counts;
    }
    return result;
  }
  Durations durations = first_requests(session);
  for (const auto& planned : session.in.plan.passes) {
    if (planned.phase == record::Phase::kFeasibility) {
      result.pass = run_pass_to_its_end(session, arms, planned, sized(session, durations));
      if (result.pass.end == PassEnd::kStopped) {
        return result;
      }
      durations = measured_requests(session.record.passes.back(), durations);
    }
  }
  require_fits(session, durations);
  result.counts = sized(session, durations);
  bind_counts(session, result.counts);
  return result;
}

}  // namespace abba::run
