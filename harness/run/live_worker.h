// One worker process of a run, from its start to its end: made to declare itself, load and prepare
// every workload, and refused if it is not exactly what was asked: other factors or settings than
// wanted, lost affinity (kPreflight); another executable, library or file than bound (kMismatch); a
// death, a silence or rubbish (kBroken, from the worker). Arms keeps those of measured passes,
// later_passes.h those of the passes after them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "harness/record/plan.h"
#include "harness/run/session.h"
#include "harness/workers/worker.h"

namespace abba::run {

struct LiveWorker {
  std::unique_ptr<workers::Worker> worker;
  record::WorkerProcess process;
};

struct WorkerStart {
  std::string arm;     // whose command, factors and injected effects
  std::string serves;  // of WorkerProcess::arm; empty = that arm alone
  record::PlannedPass pass;
  int pass_index = -1;                             // of WorkerProcess::pass
  std::map<std::string, std::string> environment;  // added to what every worker has
};

// `digests` outlives the worker.
LiveWorker spawn_worker(Session& session, const WorkerStart& start, workers::FileDigests& digests);
// What became known while it got ready, to be committed by the caller.
store::Facts make_ready(Session& session, const WorkerStart& start, LiveWorker& live);
// Asks it to end: how it did. Also for one that never got ready.
record::WorkerProcess end_worker(LiveWorker& live);

// That files and inputs are what the run was bound to; those not bound yet are added to `facts`.
void require_files(Session& session, store::Facts& facts);
// The same for the programs of a worker. Right after a start they must be the same set; otherwise
// it may have loaded a further library.
void require_bound(Session& session, const std::string& arm, const workers::Worker& worker,
                   workers::FileDigests& digests, bool just_started, store::Facts& facts);

// What a worker for `arm` ("A", "B", "reference") is started with and asked to load.
workers::WorkerSpec worker_spec(const RunInputs& in, const std::string& arm,
                                const record::PlannedPass& pass);
record::LoadRequest load_request(const RunInputs& in, const std::string& arm);

}  // namespace abba::run
