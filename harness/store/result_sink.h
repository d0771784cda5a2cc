// Where a run puts what it finds out. harness/run writes to this interface and never reads from it;
// the run file (run_file.h) is the real one, tests put their own behind it.
// Every call is one commit: whole or not at all, in the order of the calls. A call that returns has
// stored its data; a call that throws base::Error(kBroken) has stored nothing of it, and everything
// committed before stays readable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::store {

// Whatever became known together outside a block. Any member may be empty.
struct Facts {
  std::vector<record::Binding> bindings;             // a name may be bound once
  std::map<std::string, record::WorkerHello> hello;  // by arm; a later one replaces an earlier one
  std::map<std::string, record::LoadReply> load;     // by arm; likewise
  std::map<std::string, record::PrepareReply> prepared;  // "A/WORKLOAD"; likewise
  std::vector<record::SlotCounts> counts;      // what the sizing rule bound; once a workload
  std::vector<record::WorkerProcess> workers;  // new ones, or known ids with what has changed:
                                               // setup_ns, last_stderr, exit_code, cpus
  std::vector<record::Identity> identity;
  std::vector<record::EnvironmentReading> environment;  // slot -1
  std::vector<record::OutputCheck> output_checks;
  std::vector<record::GraphCapture> graph_captures;
  std::vector<record::Note> notes;
  // Host names, paths, command lines: stored apart as salted commitments, so that they can be
  // redacted later. Keys are unique in a run ("worker/3/command").
  std::map<std::string, std::string> private_strings;
};

class ResultSink {
 public:
  virtual ~ResultSink() = default;

  // `kind` names the commit in the chain: "preflight", "outputs", "bindings", "feasibility", ...
  virtual void commit_facts(std::string_view kind, const Facts& facts) = 0;

  // `pass.id` is chosen by the caller, positive and new; index, phase and start_ns are stored.
  // Blocks in it are ignored: they follow one by one.
  virtual void begin_pass(const record::Pass& pass) = 0;
  virtual void end_pass(std::int64_t pass_id, std::int64_t end_ns) = 0;
  // Marks an interrupted pass: kept, in no statistic.
  virtual void supersede_pass(std::int64_t pass_id, std::string_view why) = 0;

  // One block with all its slots, samples, spans and values, the readings around them (their `slot`
  // is a slot of this block, one that failed and is not stored, or -1) and the doubts found in it.
  // Ids of block and slots are chosen by the caller, positive and new; `pass_id` was begun. Samples
  // are stored in order of seq.
  virtual void commit_block(std::int64_t pass_id, const record::Block& block,
                            const std::vector<record::EnvironmentReading>& environment,
                            const std::vector<record::Note>& notes) = 0;

  // The recomputable cache of what statistics concluded; a later one replaces an earlier one.
  virtual void commit_analysis(const record::Analysis& analysis) = 0;

  // Ends the run as finished, stopped or broken and returns the head digest of the chain. Nothing
  // may follow.
  virtual std::string finish(record::RunState state, std::string_view text,
                             std::string_view finished_utc) = 0;
};

}  // namespace abba::store
