// From the samples of a run to its verdicts: pure functions, no I/O, no clock, no global state. The
// same record gives the same analysis, bit for bit, on every machine. No sample is dropped for its
// value: blocks leave the statistic whole, by rules that read no timing (superseded pass, failed
// block, taint), and failed requests are counted. Bad data never throws: it gives `invalid` with a
// coded note. A pooled request is never a unit of inference; the pass is.
#pragma once

#include <string>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/stats/versions.h"

namespace abba::stats {

struct Options {
  // Equal code, factors, files and inputs make the run an A/A run from which no speed claim may be
  // printed. Off only in calibration, which relabels such runs on purpose.
  bool same_hash_law = true;
  // Off where only words, effects and intervals are asked for: no summaries of requests (what takes
  // longest), unless the rule reads them (disjoint pass means), and no note about them.
  bool describes_requests = true;
};

// Verdicts of every workload of `run` at the look that its number of complete measured passes
// reaches, in the order of the manifest, with the coded notes of the analysis (the run's own notes
// are not repeated).
// By the rules of the version that the run names; where this program does not know it, every
// verdict is invalid with N038.
[[nodiscard]] record::Analysis analyze(const record::RunRecord& run, const Options& options = {});

struct LookDecision {
  bool stop = false;     // every primary workload is decided at this look
  int passes = 0;        // complete measured passes seen
  bool is_look = false;  // `passes` is one of the declared looks
  bool last_look = false;
  std::string why;  // one sentence for the progress line and the ledger
};

// What the registered rule says once a measured pass has ended: `run` holds all passes so far.
// Between looks it never stops; at the last look it always does.
[[nodiscard]] LookDecision decide_at_look(const record::RunRecord& run,
                                          const Options& options = {});
[[nodiscard]] bool stop_at_look(const record::RunRecord& run, const Options& options = {});

// Measured passes that count: not superseded, with every planned workload present.
[[nodiscard]] int complete_passes(const record::RunRecord& run);

}  // namespace abba::stats
