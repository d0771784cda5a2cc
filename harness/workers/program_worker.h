// Private to spawn: rung 0. A program without the protocol, started fresh for each slot (for
// `wall`, for each request), whose samples are its wall time or what it prints itself. In argv,
// {workload}, {input}, {warmup}, {requests}, {samples} (their sum), {factor.NAME}, {setting.NAME}
// and {file.NAME} are replaced; {out} becomes a fresh file that is then read in place of standard
// output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "harness/workers/process.h"
#include "harness/workers/worker.h"

namespace abba::workers {

class ProgramWorker : public Worker {
 public:
  explicit ProgramWorker(const WorkerSpec& spec);

  record::WorkerHello hello() override;
  // Refuses a factor or injected effect that the command does not mention.
  record::LoadReply load(const record::LoadRequest& request) override;
  record::PrepareReply prepare(const record::Workload& workload,
                               std::uint64_t rotate_seed) override;
  // The program decides how many samples it prints: those beyond `warmup` are measured, and none
  // left is an error. Their starts are the program's start plus the durations before them: an
  // order, not a measurement, since only the program's own clock was running.
  record::SlotReply slot(const record::SlotRequest& request) override;
  std::vector<record::OutputTensor> outputs(const std::string& workload,
                                            const std::vector<std::string>& stages,
                                            bool with_values) override;
  std::vector<record::CaptureCosts> graph_capture(const std::string& workload) override;
  void use_factors(const std::map<std::string, std::string>& factors) override {
    ABBA_CHECK(factors.empty());  // check refuses it: such a program has no hot factors
  }
  int shutdown() override { return 0; }

  [[nodiscard]] pid_t pid() const override { return 0; }
  [[nodiscard]] std::vector<std::string> stderr_tail() const override { return stderr_tail_; }
  [[nodiscard]] std::vector<int> cpus() const override { return {}; }  // none lives between slots
  [[nodiscard]] std::vector<record::Binding> files() const override;

 private:
  struct Run {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::vector<std::int64_t> samples_ns;
  };
  Run run_once(const record::SlotRequest& request);
  [[nodiscard]] std::vector<std::string> command(const record::SlotRequest& request,
                                                 const std::string& out_file) const;
  // `folder`: what paths in the output are relative to.
  [[nodiscard]] std::vector<std::int64_t> read_samples(const std::string& workload, const Run& run,
                                                       const std::string& output,
                                                       const std::string& folder) const;

  WorkerSpec spec_;
  record::LoadRequest loaded_;
  std::map<std::string, record::Workload> workloads_;
  std::vector<std::string> stderr_tail_;
};

}  // namespace abba::workers
