// What captured graphs cost, from the ledgers of a run's graph-capture pass, and how many requests
// pay for it. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::stats {

// What the workers of one graph-capture pass answered, in the order it was stored: ids rise through
// a run, so that they have greater ids than their pass and smaller ones than the next.
[[nodiscard]] std::vector<const record::GraphCapture*> captures_of(const record::RunRecord& run,
                                                                   const record::Pass& pass);

// Those of the graph-capture pass that was not superseded.
[[nodiscard]] std::vector<const record::GraphCapture*> counted_captures(
    const record::RunRecord& run);

// After how many requests an arm that replays a graph has won back what making it took, against an
// arm that runs without one.
struct BreakEven {
  std::string arm;      // that captures
  double cost_ns = 0;   // capture, instantiate and upload
  double requests = 0;  // at the measured effect
  double fewest = 0;    // at the ends of the 95 % interval of the effect
  double most = 0;
};

// Only where the run holds what it takes: one arm captured a single shape of the workload and gave
// all three costs, the other one answered that it captures nothing, and the 95 % interval of the
// latency says that the first is faster. Absent otherwise.
[[nodiscard]] std::optional<BreakEven> break_even(const record::RunRecord& run,
                                                  const record::Verdict& verdict);

}  // namespace abba::stats
