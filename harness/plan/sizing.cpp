#include "harness/plan/sizing.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace abba::plan {
namespace {

constexpr double kNsPerMs = 1e6;

// Requests that fill `ms`, rounded up; `ms` may be absurd, so the count is clamped before the cast.
std::int64_t requests_in(double ms, double request_ns) {
  return static_cast<std::int64_t>(std::min(std::ceil(ms * kNsPerMs / request_ns), 1e12));
}

std::int64_t at_most(double ms, double request_ns) {
  return static_cast<std::int64_t>(std::min(std::floor(ms * kNsPerMs / request_ns), 1e12));
}

}  // namespace

record::SlotCounts size_slot(const record::SlotRule& rule, const std::string& workload,
                             double request_a_ns, double request_b_ns) {
  const double faster = std::max(1.0, std::min(request_a_ns, request_b_ns));
  const double slower = std::max(1.0, std::max(request_a_ns, request_b_ns));
  const std::int64_t time_cap = at_most(rule.max_ms, slower);

  std::int64_t requests = std::max(rule.min_requests, requests_in(rule.min_ms, faster));
  requests = std::min(requests, std::max(time_cap, kLeastRequests));
  requests = std::max<std::int64_t>(1, std::min(requests, rule.max_requests));

  std::int64_t warmup = std::max(rule.warmup_requests, requests_in(rule.warmup_ms, faster));
  warmup = std::min(warmup, std::max(time_cap, std::min(warmup, kLeastWarmups)));
  return {workload, warmup, requests};
}

double typical_request_ns(const record::Pass& pass, const std::string& workload,
                          const std::string& arm) {
  std::vector<double> durations;
  for (const auto& block : pass.blocks) {
    if (block.workload != workload || block.failed) {
      continue;
    }
    for (const auto& slot : block.slots) {
      for (const auto& sample : slot.samples) {
        if (slot.arm == arm && !sample.warmup && sample.status == record::SampleStatus::kOk) {
          durations.push_back(static_cast<double>(sample.duration_ns));
        }
      }
    }
  }
  if (durations.empty()) {
    return -1;
  }
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

}  // namespace abba::plan
