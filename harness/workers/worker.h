// A worker as the harness drives it: one process that answers one request at a time. The run layer
// knows only this interface; tests replace it. `spawn` makes the real ones: a program that speaks
// abba.worker/1, or (WorkerSpec::reads) a rung 0 program that is started fresh for each slot.
// Everything a worker says is untrusted: an answer that breaks the protocol, a death or a silence
// past its time-out is base::Error(kBroken) with the last stderr lines, and no sample is invented.
// After such an error the process is dead and reaped; every further call throws again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/record/registration.h"
#include "harness/record/worker.h"
#include "harness/workers/executable.h"

namespace abba::workers {

class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;  // a process still alive is terminated and reaped

  virtual record::WorkerHello hello() = 0;
  // A worker without the capability "load" that is asked for nothing gets no message: the reply is
  // then empty. Effective factors may differ from the asked ones; the caller decides.
  virtual record::LoadReply load(const record::LoadRequest& request) = 0;
  // `rotate_seed` draws the workload's `rotate` variants. The worker answers one full request.
  virtual record::PrepareReply prepare(const record::Workload& workload,
                                       std::uint64_t rotate_seed) = 0;
  virtual record::SlotReply slot(const record::SlotRequest& request) = 0;
  // Empty `stages` = all the worker declares. Throws kBroken if the worker lacks "outputs".
  virtual std::vector<record::OutputTensor> outputs(const std::string& workload,
                                                    const std::vector<std::string>& stages,
                                                    bool with_values) = 0;
  // What each shape of a prepared workload costs until it runs as a captured graph; nothing that it
  // does is a timed sample. Throws kBroken if the worker lacks "graph_capture", kPreflight if it
  // refuses this workload and lives on.
  virtual std::vector<record::CaptureCosts> graph_capture(const std::string& workload) = 0;
  // Every further slot and outputs message switches to these hot factors first and is refused if
  // the answer does not repeat them; empty = as loaded. Only a worker of the protocol can.
  virtual void use_factors(const std::map<std::string, std::string>& factors) = 0;
  // Asks the process to end; SIGTERM, then SIGKILL to its group if it does not. The exit code, or
  // 128 + signal. Safe to call twice.
  virtual int shutdown() = 0;

  [[nodiscard]] virtual pid_t pid() const = 0;  // 0 for a program started per slot
  [[nodiscard]] virtual std::vector<std::string> stderr_tail() const = 0;
  // CPUs that any of its threads may run on, read back from the kernel; empty when there is none.
  [[nodiscard]] virtual std::vector<int> cpus() const = 0;
  // The executable and the libraries mapped right now, with the SHA-256 of each file. Throws
  // kBroken if the process is dead by then.
  [[nodiscard]] virtual std::vector<record::Binding> files() const = 0;
};

struct WorkerSpec {
  std::string name = "worker";                     // of messages: "A", "B", "reference"
  std::vector<std::string> argv;                   // argv[0] is looked up in PATH
  std::string cwd;                                 // empty = the harness's
  std::map<std::string, std::string> environment;  // added to the harness's own
  std::size_t padding_bytes = 0;                   // of ABBA_PADDING in the environment ...
  std::uint64_t padding_seed = 0;                  // ... its letters drawn from this seed
  std::vector<int> cpus;                           // empty = not set
  int memory_node = -1;                            // -1 = not bound
  record::Timeouts timeouts;
  std::function<void(std::string_view line)>
      log;                     // stderr lines, from another thread; may be empty
  std::function<bool()> stop;  // asked while an answer is waited for; true kills; may be empty
  record::Reads reads = record::Reads::kProtocol;
  FileDigests* digests = nullptr;  // of files(), shared by the workers of a run; outlives them
};

// Random padding of the environment for a fresh worker: the stack's start, and with it cache and
// page alignment, is re-drawn with every pass. Uniform in [0, 4096), from the plan's seed.
std::size_t draw_padding(std::uint64_t seed);

// Starts the process (rung 0: checks that the program exists) and negotiates the version. Throws
// kBroken if it cannot be started, dies, hangs or does not speak abba.worker/1; kBadInput for an
// empty argv, a CPU or memory node this machine does not have.
std::unique_ptr<Worker> spawn(const WorkerSpec& spec);

}  // namespace abba::workers
