// Private to the conformance suite: what the probes share, and their tables by message.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/workers/conformance.h"
#include "harness/workers/conformance_subject.h"

namespace abba::workers {

// The command under test, what it declared, and one process that the probes share until a probe
// fails: the next then gets a new one, so that no breach hides another.
class Bench {
 public:
  static constexpr const char* kWorkload = "worker-check";

  Bench(const std::vector<std::string>& argv, const ConformanceOptions& options);

  [[nodiscard]] Subject start() const { return {argv, options.timeout_s}; }
  Subject& shared();
  // The shared one with defaults loaded (if it can) and the workload prepared.
  Subject& prepared();
  void drop() { shared_.reset(); }      // the process; the next call starts another
  void forget() { prepared_ = false; }  // after a load or a prepare of one's own

  void load_defaults(Subject& subject) const;
  base::Json prepare(Subject& subject) const;
  [[nodiscard]] record::Workload workload() const;
  [[nodiscard]] record::LoadRequest defaults() const;
  void require_capability(std::string_view capability) const;  // throws NotDeclared

  // 2 warm-ups and 5 requests of the workload.
  [[nodiscard]] static record::SlotRequest slot(const std::string& id);
  record::SlotReply ask_slot(Subject& subject, const record::SlotRequest& request) const;
  std::vector<record::OutputTensor> ask_outputs(Subject& subject,
                                                const std::vector<std::string>& stages,
                                                bool values) const;

  const std::vector<std::string>& argv;
  const ConformanceOptions& options;
  record::WorkerHello hello;
  record::LoadReply loaded;
  record::PrepareReply readiness;

 private:
  base::Json input_;  // of --input, or null
  std::unique_ptr<Subject> shared_;
  bool prepared_ = false;
};

struct Probe {
  std::string_view rule;
  std::vector<std::string_view> needs;   // rules that must hold before this can be judged
  std::vector<std::string_view> covers;  // rules of the reader that hold if the body returns
  std::string (*body)(Bench&);           // what was seen
};

std::vector<Probe> hello_probes();
std::vector<Probe> load_probes();
std::vector<Probe> prepare_probes();
std::vector<Probe> slot_probes();
std::vector<Probe> output_probes();
std::vector<Probe> ending_probes();

}  // namespace abba::workers
