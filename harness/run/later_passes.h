// Passes after the measured ones, for work that must not happen in a process that is timed. Each
// arm of the pass gets a fresh worker, alone, made ready exactly as for a measured pass and held to
// the same bindings; LaterWork asks it what the pass is for. No sample of it enters a statistic.
// Whatever goes wrong in it (no capability, a death, a silence, rubbish, a changed program) becomes
// a note on that arm: what was measured before is whole, so the run goes on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "harness/record/plan.h"
#include "harness/run/pass_runner.h"
#include "harness/run/session.h"
#include "harness/run/stored_pass.h"
#include "harness/workers/worker.h"

namespace abba::run {

// An arm of a later pass under way.
struct LaterArm {
  std::string arm;
  StoredPass& pass;
  std::int64_t worker_id;
  workers::Worker& worker;
};

class LaterWork {
 public:
  virtual ~LaterWork() = default;
  // What the worker lacks for this pass, to follow "worker A "; empty = nothing.
  [[nodiscard]] virtual std::string lack(const record::WorkerHello& hello) const = 0;
  // What the arm's worker has in its environment beside what every worker has. May throw
  // base::Error: then the arm has no part in the pass.
  [[nodiscard]] virtual std::map<std::string, std::string> environment(const std::string&) {
    return {};
  }
  // One workload of the pass, by a worker that has prepared it. Stores what it finds through
  // the session, so that what it found before it throws base::Error is kept.
  virtual void run(Session& session, const LaterArm& arm, const record::PlannedBlock& block) = 0;
  // After the worker has ended, however it did: its files are whole. May throw base::Error.
  virtual void ended(Session&, const std::string& /*arm*/, std::int64_t /*worker_id*/) {}
};

// Runs the pass: kDone, also if arms had no part in it, or kStopped on request or by the time
// limit: then it is marked superseded, and a resumed run makes it again whole. Throws only what the
// sink throws.
PassResult run_later_pass(Session& session, const record::PlannedPass& planned, LaterWork& work);

}  // namespace abba::run
