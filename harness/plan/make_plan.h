// A manifest and its seed unrolled into phases, passes, blocks and slot orders. Pure: no clock, no
// file, the same manifest always gives the same plan, on every machine.
//
// Who runs what: the feasibility pass uses the workers of the preflight; a measured pass starts new
// ones when the manifest says fresh-per-pass. Orders are random where the plan allows it and always
// balanced, so that neither arm is first, or started first, more often than the other.
#pragma once

#include <string>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"

namespace abba::plan {

// One feasibility pass (if asked for) and `protocol.passes` measured passes. Refuses nothing that
// harness/manifest accepts; passes < 1, blocks < 1 or no workload is our mistake (ABBA_CHECK).
//
// `slot_order` of a block, by order of the protocol:
//   AB/BA        "AB" or "BA", alternating over blocks and passes, pass 0 begins with AB: the
//                seeds' method
//   ABBA/BAAB    random start; equally often each within a pass, and if the number of blocks is odd
//                within each pair of neighbouring passes
//   random       two slots of each arm in one of the six orders, equally likely
//   interleaved  the cycle in which single requests alternate: "ABBA"/"BAAB" as above, or "AB"/"BA"
//                under two-pass
// Workloads take turns, a block each, by `workload_order`: as declared, begun one further in every
// round of blocks, or shuffled in every round.
record::Plan make_plan(const record::Manifest& manifest);

// Warm-ups and requests of a workload in the trace pass, as the manifest's `traces` has them.
record::SlotCounts trace_counts(const record::Manifest& manifest, const std::string& workload);

// Slots a block stores: one a letter, or two (one an arm) when interleaved.
int slot_count(const record::PlannedBlock& block);

}  // namespace abba::plan
