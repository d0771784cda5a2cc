// The excluded first sequence: through the same code as everything measured, in no statistic. Binds
// the counts of every slot by the registered sizing rule and refuses a run that cannot fit its
// limits.
#pragma once

#include "harness/run/pass_runner.h"

namespace abba::run {

struct Feasibility {
  PassResult pass;          // kDone unless stopped
  CountsByWorkload counts;  // bound, of every workload
};

// A resumed run that has its counts keeps them and measures nothing here. Throws Error(kPreflight)
// with the limit and cheaper plans if the run cannot fit; Error(kBroken) if a worker fails twice.
Feasibility run_feasibility(Session& session, Arms& arms);

}  // namespace abba::run
