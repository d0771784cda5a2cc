// Carries a plan out: workers ready, outputs checked, feasibility, bindings, measured passes,
// looks, end. Whatever happens, everything measured is in the sink and the run has an end with a
// reason; only a sink that itself fails leaves the run as after a crash. Prints nothing.
#pragma once

#include <optional>
#include <string>

#include "engine/base/error.h"
#include "harness/run/session.h"

namespace abba::run {

struct RunResult {
  record::RunState state = record::RunState::kFinished;
  std::optional<base::ErrorCode> error;  // what the exit code is made of; empty = done
  std::string text;                      // one sentence
  std::string head_digest;               // of the chain; empty if the sink failed
  bool started = false;                  // workers ready, outputs checked, entered in the ledger
  bool measured = false;                 // at least one measured slot was begun
  record::RunRecord record;              // as it lies in the file
};

// `in.resume_from` continues that record: bindings are compared, its complete passes kept, its
// interrupted ones superseded. Never throws for what the world does; it ends in the result:
//   kPreflight  workers not ready as asked, outputs differ, limits cannot be met: nothing timed
//   kMismatch   a binding changed, at the start or in the middle
//   kBroken     a worker failed twice in a pass, the sink failed, stopped by limit or on request
RunResult carry_out(const RunInputs& in, Collaborators& with);

}  // namespace abba::run
