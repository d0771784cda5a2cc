// The interrupted run that `run --resume` goes on with.
#pragma once

#include "harness/cli/execute.h"
#include "harness/record/run_record.h"

namespace abba::cli {

// The named file, or the latest unfinished run of this registration; unreadable files are passed
// over, and named on standard error. `file` of the record is its path. Throws Error: kBadInput if
// there is none or it is finished, kMismatch if it belongs to another registration, kEvidence if it
// does not check out, since going on would put honest commits on top of changed ones.
record::RunRecord find_interrupted(const Execution& execution);

}  // namespace abba::cli
