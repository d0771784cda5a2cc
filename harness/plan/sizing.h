// The registered sizing rule: from how long one request takes to how many a slot holds. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/record/run_record.h"

namespace abba::plan {

inline constexpr std::int64_t kLeastRequests = 5;
inline constexpr std::int64_t kLeastWarmups = 1;

// Counts of a slot, the same for both arms, from the typical request of each arm in nanoseconds
// (the two may come in any order).
//   requests  the longer of min_requests and min_ms (of the faster arm, so that both reach it), at
//             most max_requests, at most max_ms (of the slower arm, so that neither exceeds it);
//             max_ms wins over min_requests but leaves at least 5, or max_requests if that is less
//   warm-ups  the longer of warmup_requests and warmup_ms (of the faster arm), and their time is
//             under the same max_ms; at least 1 unless warmup_requests and warmup_ms are both 0
// A duration that is not positive counts as 1 ns.
record::SlotCounts size_slot(const record::SlotRule& rule, const std::string& workload,
                             double request_a_ns, double request_b_ns);

// Median duration of the measured, answered requests of one arm in the blocks of `workload` of that
// pass, in nanoseconds; negative if there is none.
double typical_request_ns(const record::Pass& pass, const std::string& workload,
                          const std::string& arm);

}  // namespace abba::plan
