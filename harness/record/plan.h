// A manifest unrolled: phases, passes, blocks and the order of slots in each. Made by harness/plan
// from the manifest and its seed alone, so that the same registration always gives the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace abba::record {

enum class Phase { kFeasibility, kMeasured, kGraphCapture, kTrace };

// Run after all measured passes, in workers of its own, which take no timed sample.
constexpr bool is_later(Phase phase) {
  return phase == Phase::kGraphCapture || phase == Phase::kTrace;
}

struct PlannedBlock {
  std::string workload;
  std::string
      slot_order;  // one letter a slot: "AB", "BA", "ABBA", "BAAB"; interleaved: pairs of requests
  bool interleaved = false;  // single requests alternate; stored as one slot per arm
};

struct PlannedPass {
  int index = 0;  // 0-based within its phase
  Phase phase = Phase::kMeasured;
  bool fresh_workers = false;      // start new worker processes before this pass
  std::string start_order;         // "AB" or "BA": which worker is started first; of a later pass
                                   // the arms that it is for, one after the other
  std::uint64_t padding_seed = 0;  // random environment padding of fresh workers
  std::vector<PlannedBlock> blocks;
};

struct Plan {
  std::vector<PlannedPass> passes;  // feasibility first, then measured, then later ones
  std::vector<int> looks;           // measured pass counts at which the rule is applied
};

// What the sizing rule binds after feasibility: equal for both arms.
struct SlotCounts {
  std::string workload;
  std::int64_t warmup = 0;
  std::int64_t requests = 0;
};

// A trace's requests are few: each is some thousand rows, and slower than where it is measured.
inline constexpr std::int64_t kDefaultTraceWarmup = 5;
inline constexpr std::int64_t kDefaultTraceRequests = 10;
inline constexpr std::int64_t kMostTraceRequests = 1000;

struct PlanCost {
  double start_minutes = 0;
  double measuring_minutes = 0;
  double megabytes = 0;
  std::int64_t requests = 0;
};

}  // namespace abba::record
