// From samples to one number a pass: block contrasts d = mean of B's slot summaries minus mean of
// A's, on the log scale (for ABBA/BAAB that is 1/2[(b1+b2) - (a1+a2)], in which a linear drift
// cancels; neighbouring AB and BA blocks are joined to the same form), then D_p = Hodges-Lehmann of
// the contrasts of the pass. Interleaved blocks give one contrast for each two neighbouring pairs
// of requests.
#pragma once

#include <string>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/stats/measured.h"

namespace abba::stats {

struct PassValue {
  int index = 0;
  double effect = 0;      // D_p, log ratio B/A
  double with_taint = 0;  // the same from all blocks, tainted ones too
  double first_slot = 0;  // first slot of a block minus the later one of the same arm, log
  bool has_first_slot = false;
};

struct WorkloadContrasts {
  std::vector<PassValue> passes;
  std::vector<record::Note> notes;  // what the data lack; any kInvalid makes the workload invalid
  // A and B for each pass, then pooled (pass = -1); none unless requests are to be described.
  std::vector<record::ArmSummary> summaries;
  std::int64_t blocks_used = 0;
  std::int64_t blocks_tainted = 0;
  std::int64_t blocks_failed = 0;
  [[nodiscard]] bool sound() const;  // no note of severity kInvalid
};

[[nodiscard]] WorkloadContrasts contrasts(const record::RunRecord& run,
                                          const std::vector<const record::Pass*>& passes,
                                          const std::string& workload, const Measure& measure,
                                          bool describes_requests = true);

}  // namespace abba::stats
