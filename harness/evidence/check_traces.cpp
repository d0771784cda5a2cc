// What a trace pass may hold: blocks of one slot, each of a planned arm and workload, no two of
// one, from a worker that served no other pass, and their rows inside of the slot. None is missing
// without a note that says why.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "harness/evidence/check_record.h"
#include "harness/evidence/later_workers.h"
#include "harness/record/later_pass_notes.h"

namespace abba::evidence {
namespace {

bool is_planned(const record::PlannedPass& planned, const record::Block& block) {
  return std::any_of(planned.blocks.begin(), planned.blocks.end(), [&](const auto& wanted) {
    return wanted.workload == block.workload &&
           wanted.slot_order.find(block.slot_order) != std::string::npos;
  });
}

// Of an arm that had no part in the pass, in whole or from some workload on: see `abba explain`.
constexpr std::string_view kExcuses[] = {record::kLaterPassUnable, record::kLaterPassFailed,
                                         record::kNothingTraced};

// A range may begin a little before its request, and the two clocks agree to some microseconds.
constexpr std::int64_t kSlackNs = 1'000'000;

template <typename Record>
bool inside(const std::vector<Record>& records, const record::Slot& slot) {
  return std::all_of(records.begin(), records.end(), [&](const Record& record) {
    return record.start_ns >= slot.start_ns - kSlackNs && record.end_ns <= slot.end_ns + kSlackNs;
  });
}

using Traced = std::set<std::pair<std::string, std::string>>;  // workload and arm

std::string missing(const record::RunRecord& run, const record::PlannedPass& planned,
                    const Traced& seen) {
  for (const auto& block : planned.blocks) {
    for (const char letter : block.slot_order) {
      const std::string arm(1, letter);
      if (!seen.contains({block.workload, arm}) &&
          !is_excused(run, planned.phase, arm, block.workload, kExcuses)) {
        return "the trace of arm " + arm + " on workload " + block.workload + " is missing";
      }
    }
  }
  return "";
}

}  // namespace

std::string check_traced_pass(const record::RunRecord& run, const record::Pass& pass,
                              const record::PlannedPass& planned) {
  Traced seen;
  for (const record::Block& block : pass.blocks) {
    const std::string where =
        "trace pass, block " + std::to_string(block.id) + " of workload " + block.workload;
    if (block.slots.size() != 1 || block.slots.front().arm != block.slot_order ||
        !is_planned(planned, block)) {
      return where + " was not planned";
    }
    const record::Slot& slot = block.slots.front();
    if (!seen.insert({block.workload, slot.arm}).second) {
      return where + ": arm " + slot.arm + " stands twice";
    }
    if (!is_later_worker(run, slot.worker, slot.arm)) {
      return where + " is of a worker that was not started for the trace pass";
    }
    if (answered_elsewhere(run, slot.worker, record::Phase::kTrace)) {
      return where + " is of a worker in which requests were measured";
    }
    if (!inside(slot.trace.kernels, slot) || !inside(slot.trace.copies, slot) ||
        !inside(slot.trace.calls, slot) || !inside(slot.trace.ranges, slot)) {
      return where + " holds a record from outside of its slot";
    }
  }
  return missing(run, planned, seen);
}

}  // namespace abba::evidence
