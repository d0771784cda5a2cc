// Doubts about the run as a whole: what was interrupted, what was not re-drawn, what the manifest
// leaves out. They read no timing.
#pragma once

#include <vector>

#include "harness/record/run_record.h"

namespace abba::stats {

// `passes` are those that count; `seeds_rule`: the run is judged by disjoint pass means.
[[nodiscard]] std::vector<record::Note> run_notes(const record::RunRecord& run,
                                                  const std::vector<const record::Pass*>& passes,
                                                  bool stopped_early, bool seeds_rule);

}  // namespace abba::stats
