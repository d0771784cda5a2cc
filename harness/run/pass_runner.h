// One pass: workers as planned, every block of it, the taint rule, the limits. A pass that does not
// reach its end is marked superseded right away: it is kept and enters no statistic.
#pragma once

#include <map>
#include <string>

#include "harness/record/plan.h"
#include "harness/run/arms.h"
#include "harness/run/session.h"

namespace abba::run {

enum class PassEnd { kDone, kWorkerFailed, kStopped };

struct PassResult {
  PassEnd end = PassEnd::kDone;
  std::string text;
};

using CountsByWorkload = std::map<std::string, record::SlotCounts>;

// The limits of the manifest are checked before every block, so that a limit
// stops the pass after the current one.
PassResult run_pass(Session& session, Arms& arms, const record::PlannedPass& planned,
                    const CountsByWorkload& counts);

// Runs the pass, and once more with new workers if a worker failed in it. A second failure throws
// Error(kBroken). kStopped is returned.
PassResult run_pass_to_its_end(Session& session, Arms& arms, const record::PlannedPass& planned,
                               const CountsByWorkload& counts);

}  // namespace abba::run
