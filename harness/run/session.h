// The state that the phases of one run share: what was asked, what was found out so far (the same
// record that the run file gives back), the next free ids. Everything that is stored goes through
// it, so that memory and file never disagree.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/host/affinity.h"
#include "harness/host/device_choice.h"
#include "harness/manifest/files.h"
#include "harness/record/manifest.h"
#include "harness/record/plan.h"
#include "harness/run/arm_command.h"
#include "harness/run/bindings.h"
#include "harness/run/collaborators.h"
#include "harness/trace/tracer.h"

namespace abba::run {

struct RunInputs {
  record::Manifest manifest;
  record::Plan plan;
  std::map<std::string, ArmCommand> commands;  // "A", "B", and "reference" if declared
  std::vector<manifest::ResolvedFile> files;
  host::CpuSplit cpus;
  host::DeviceChoice device;
  bool require_device = false;  // every worker must name the device it computes on
  std::vector<record::Identity> identity;
  std::vector<record::Note> notes;                     // found before the run file was opened
  std::map<std::string, std::string> private_strings;  // host name, ...
  std::map<std::string, std::string> fixed_hashes;     // binding name -> value demanded beforehand
  EarlierBindings earlier;                             // of another run of the same registration
  std::vector<std::string> known_events;               // heads of the ledger when this run began
  trace::Tracer tracer;                                // of a trace pass
  bool exploratory = false;
  std::string run_file;  // name for ledger events
  const record::RunRecord* resume_from = nullptr;
};

// Thrown where a stop is asked for between two steps before a block; where the phases end it is
// caught. No base::Error, since nothing failed.
struct StopRequest {
  std::string text;  // one sentence
};

class Session {
 public:
  Session(const RunInputs& inputs, Collaborators& with);

  // Stores the facts and adds them to the record. Throws what the sink throws.
  void commit(std::string_view kind, const store::Facts& facts);
  void note(std::string_view code, std::string where, std::string text);
  // A block of a pass with the readings and notes that came with it; what is told to the observer
  // and kept in the record but for the block itself, which StoredPass keeps.
  void commit_block(std::int64_t pass_id, const record::Block& block,
                    const std::vector<record::EnvironmentReading>& readings,
                    const std::vector<record::Note>& notes);

  [[nodiscard]] double elapsed_s();
  // Which limit of the manifest is reached, in words; empty = none.
  [[nodiscard]] std::string time_limit_reached();
  [[nodiscard]] std::string limit_reached();
  // Throws StopRequest if Ctrl-C was pressed: asked between the steps of starting workers and of
  // checking outputs, each of which is one message. `step` is what would have come next.
  void require_going(const std::string& step) const;
  // What a worker's failure was, if that worker was killed on request: no failure of its own.
  [[nodiscard]] bool killed_on_request() const;
  // How long this slot's requests should take: at the pace of the first request that this arm
  // answered, or a minute where none is known.
  [[nodiscard]] double expected_slot_s(const std::string& arm, const std::string& workload,
                                       std::int64_t count) const;
  std::int64_t next_id() { return ++last_id_; }
  [[nodiscard]] const record::SlotCounts* counts(const std::string& workload) const;
  [[nodiscard]] const record::Workload& workload(const std::string& id) const;
  // The boundaries to time: the workload's, or the first outermost one the workers declare.
  [[nodiscard]] std::vector<std::string> boundaries(const record::Workload& workload) const;

  const RunInputs& in;
  Collaborators& with;
  record::RunRecord record;
  std::int64_t start_ns = 0;
  double earlier_s = 0;       // measured in earlier sessions of a resumed run
  std::int64_t requests = 0;  // made so far, warm-ups and earlier sessions included
  std::int64_t last_slot_end_ns = 0;
  std::map<std::string, std::string> digests;  // "A/WORKLOAD" -> digest of its last clean slot
  std::map<std::string, double> block_s;       // by workload: last duration, for the estimate
  double start_s = 0;                          // last duration of starting both workers
  bool sink_failed = false;  // an error from here on is the sink's, not a worker's

 private:
  std::int64_t last_id_ = 0;
};

}  // namespace abba::run
