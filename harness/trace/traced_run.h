// The traced slots of a run, each with its tables and with what it can be held against: the same
// arm's time for the same workload where nothing was traced, and the launches that its worker
// declares. Reads the record alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/trace/summary.h"

namespace abba::trace {

struct TracedSlot {
  const record::Slot* slot = nullptr;  // of the run
  std::string workload;
  std::string boundary;
  std::vector<Window> windows;  // of the requests whose rows are stored
  Summary summary;
  double traced_ns = 0;                 // median of the slot's measured requests
  double untraced_ns = 0;               // median of all of the arm's measured passes; 0 = none
  std::int64_t declared_launches = -1;  // a request, by the worker's `prepare`; -1 = not said
  std::string status;                   // "complete" or "incomplete"
  std::string mode;
  double cupti = 0;    // its version number
  double dropped = 0;  // records
  double cut = 0;
  double strange = 0;

  // Traced over untraced time; 0 where one is not known.
  [[nodiscard]] double ratio() const { return untraced_ns > 0 ? traced_ns / untraced_ns : 0; }
};

// Which of them; empty = any.
struct SlotChoice {
  std::string arm;
  std::string workload;
};

// Of trace passes that were not superseded, in order of workload (as declared) and arm.
std::vector<TracedSlot> traced_slots(const record::RunRecord& run, const SlotChoice& choice = {});

}  // namespace abba::trace
