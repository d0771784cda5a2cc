// What a plan costs before it runs, whether that fits the manifest's limits, and what would be
// cheaper. Pure: durations that nobody knows yet are assumptions that the caller states.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"

namespace abba::plan {

struct CostAssumptions {
  double worker_start_s = 1.0;               // spawn, declare, load, first request
  std::map<std::string, double> request_ns;  // by workload, where known
  double other_request_ns = 0;  // of workloads not named; 0 = what fills min_ms with min_requests
};

// Minutes, megabytes (10^6 bytes) and requests (warm-ups included) of the whole plan.
record::PlanCost cost_of(const record::Manifest& manifest, const record::Plan& plan,
                         const CostAssumptions& assumptions);

// Each limit of the manifest that this cost exceeds, one sentence each; empty = fits.
std::vector<std::string> limits_exceeded(const record::Manifest& manifest,
                                         const record::PlanCost& cost);

struct CheaperPlan {
  std::string change;  // what to write into `protocol`, as JSON text
  std::string loses;   // what it can no longer claim, one sentence
  record::PlanCost cost;
};

// Plans that cost less than this one, the dearest first. Empty if there is none (two-pass).
std::vector<CheaperPlan> cheaper_plans(const record::Manifest& manifest,
                                       const CostAssumptions& assumptions);

}  // namespace abba::plan
