// Which passes and blocks count, and the times in them. The rules read no timing: superseded and
// incomplete passes leave whole, failed blocks leave whole, tainted blocks leave where the pass
// holds enough clean ones. What left is counted and said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::stats {

// The number a sample gives: the request's time at a boundary, or a value the worker returned.
struct Measure {
  std::string metric;    // "latency" or a declared metric
  std::string boundary;  // of latency; empty = the block's outermost
  bool higher_is_better = false;
};

// The primary metric of the manifest, its direction from the workers' hello.
[[nodiscard]] Measure primary_measure(const record::RunRecord& run);

// Measured passes in which every workload has its planned number of blocks that did not fail, by
// index; a superseded or incomplete pass is not among them.
[[nodiscard]] std::vector<const record::Pass*> counted_passes(const record::RunRecord& run);

// Blocks that `workload` should have in the measured pass `index`.
[[nodiscard]] int planned_blocks(const record::RunRecord& run, int index,
                                 const std::string& workload);

// Blocks of `workload` in `pass` whose times count: neither failed nor tainted.
[[nodiscard]] std::vector<const record::Block*> clean_blocks(const record::Pass& pass,
                                                             const std::string& workload);

// Whether the arms took turns request by request in the block, which is stored as one slot an arm.
[[nodiscard]] bool interleaved(const record::RunRecord& run, const record::Block& block);

struct SlotValues {
  std::vector<double> values;           // of measured requests that succeeded, in order of seq
  std::vector<std::int64_t> starts_ns;  // of the same requests
  std::vector<std::int64_t> seqs;
  std::int64_t requests = 0;  // measured, failed ones included
  std::int64_t failures = 0;
  std::int64_t unusable =
      0;  // zero, negative or not finite; kept out of `values` but never silently
  bool duplicate_seq = false;
  bool clock_stepped = false;  // starts fall as seq rises, or the slot ends before it starts
};

[[nodiscard]] SlotValues slot_values(const record::Slot& slot, const record::Block& block,
                                     const Measure& measure);

// Log-scale summary of a slot: median of log time, or log of the mean for a throughput metric.
// Needs at least one value.
[[nodiscard]] double slot_summary(const std::vector<double>& values, const Measure& measure);

}  // namespace abba::stats
