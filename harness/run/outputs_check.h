// Before any time counts: do the arms give the results they must? Per input: each arm in forward
// and reversed order of the inputs, a repeat on the reused workspace bitwise equal, A against B by
// the registered rule, each arm against the reference if one is declared. Everything found is
// stored before anything is refused.
#pragma once

#include "harness/run/arms.h"
#include "harness/run/session.h"

namespace abba::run {

// Throws Error(kPreflight), exit 4, if a repeat or the reversed order differs under a rule, if A
// against B breaks the rule, if only B fails against the reference, or if a rule is asked for and a
// worker cannot show outputs. A baseline that fails against the reference gives a note
// (parity-blocked) and the run goes on.
void check_outputs(Session& session, Arms& arms);

}  // namespace abba::run
