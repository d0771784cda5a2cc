// What a run needs of the outside world, behind interfaces that tests replace. The caller owns all
// of it and keeps it alive for the length of carry_out().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "harness/host/clock.h"
#include "harness/host/environment_watch.h"
#include "harness/record/registration.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/store/result_sink.h"
#include "harness/workers/worker.h"

namespace abba::run {

// The machine around the slots; see host::EnvironmentWatch, whose calls these are.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual void set_workers(const std::vector<pid_t>& pids) = 0;
  virtual void before_slot(std::int64_t slot, const std::vector<pid_t>& active) = 0;
  virtual host::SlotExposure after_slot() = 0;
  virtual std::vector<record::EnvironmentReading> take_readings() = 0;
};

std::unique_ptr<Environment> watch_environment(const host::EnvironmentWatch::Options& options,
                                               host::Clock& clock);

// Where a run stands, told before each block and at each change of phase.
struct Progress {
  std::string phase;  // "preflight", "outputs", "feasibility", "measured", "finished"
  int pass = 0;       // 1-based; 0 = none
  int passes = 0;
  int block = 0;  // 1-based within the pass; 0 = none
  int blocks = 0;
  std::string workload;
  double elapsed_s = 0;
  double rest_s = -1;  // estimated, negative = unknown
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const Progress& progress) = 0;
  virtual void note(const record::Note& note) = 0;
};

using WorkerFactory =
    std::function<std::unique_ptr<workers::Worker>(const workers::WorkerSpec& spec)>;

struct LookAnswer {
  bool stop = false;
  std::string why;
};

struct Collaborators {
  host::Clock& clock;
  WorkerFactory spawn;
  store::ResultSink& sink;
  Environment& environment;
  Observer& observer;
  std::function<bool()> stop_requested;  // Ctrl-C; asked before every slot
  // The registered rule, asked after each measured pass with everything measured so far.
  std::function<LookAnswer(const record::RunRecord&)> look;
  // Recomputable conclusions, stored with the run at its end; may be empty.
  std::function<record::Analysis(const record::RunRecord&)> analyze;
  // Ledger events of a registered run (bound, run started, run finished); returns the event's
  // digest. May be empty.
  std::function<std::string(record::LedgerEventKind, const base::Json& details)> ledger;
  // The digests of the files and file inputs as they are now, "file/NAME" and "input/WORKLOAD";
  // asked before every pass and at the end, so cheap where nothing changed. May be empty.
  std::function<std::map<std::string, std::string>()> file_digests;
  // A second Ctrl-C: whatever worker is being waited for is killed. May be empty.
  std::function<bool()> kill_requested;
};

}  // namespace abba::run
