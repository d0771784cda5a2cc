// What the workers of an arm were bound to when a run began, and whether it still is: the files of
// their command and those mapped into them.
#pragma once

#include <string>
#include <vector>

#include "harness/record/registration.h"
#include "harness/run/arm_command.h"
#include "harness/workers/executable.h"
#include "harness/workers/worker.h"

namespace abba::run {

// Files of the command line and files mapped into the process; a script's interpreter comes second
// under a name of its own.
std::vector<record::Binding> bindings_of(const std::string& arm, const ArmCommand& command,
                                         const workers::Worker& worker,
                                         workers::FileDigests& digests);

// Those of an arm are named KIND/ARM/..., the others by the workload or file they are of.
[[nodiscard]] bool belongs_to(const record::Binding& binding, const std::string& arm);

// Throws kMismatch: what was measured is kept, and nothing more is.
[[noreturn]] void refuse_binding(const std::string& name, const std::string& what);

// Refuses the first of `now` that differs from `bound`, or that only one of them has. A worker that
// did not just start may have loaded a further library.
void require_same(const std::vector<record::Binding>& bound,
                  const std::vector<record::Binding>& now, const std::string& arm,
                  bool just_started);

}  // namespace abba::run
