// Private to spawn: a process that speaks abba.worker/1.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "harness/workers/process.h"
#include "harness/workers/worker.h"

namespace abba::workers {

ProcessSpec process_spec(const WorkerSpec& spec);
// How long a worker may take over this slot.
double slot_timeout_s(const WorkerSpec& spec, const record::SlotRequest& request);
// "; its last lines on standard error: ..." or "".
std::string stderr_excerpt(const std::vector<std::string>& tail);

class ProtocolWorker : public Worker {
 public:
  explicit ProtocolWorker(const WorkerSpec& spec);

  record::WorkerHello hello() override { return hello_; }
  record::LoadReply load(const record::LoadRequest& request) override;
  record::PrepareReply prepare(const record::Workload& workload,
                               std::uint64_t rotate_seed) override;
  record::SlotReply slot(const record::SlotRequest& request) override;
  std::vector<record::OutputTensor> outputs(const std::string& workload,
                                            const std::vector<std::string>& stages,
                                            bool with_values) override;
  std::vector<record::CaptureCosts> graph_capture(const std::string& workload) override;
  void use_factors(const std::map<std::string, std::string>& factors) override {
    factors_ = factors;
  }
  int shutdown() override;

  [[nodiscard]] pid_t pid() const override { return process_.pid(); }
  [[nodiscard]] std::vector<std::string> stderr_tail() const override {
    return process_.stderr_tail();
  }
  [[nodiscard]] std::vector<int> cpus() const override { return allowed_cpus(pid()); }
  [[nodiscard]] std::vector<record::Binding> files() const override;

 private:
  // Sends `request`, waits for the answer of the same type. An error answer is thrown as `refusal`;
  // anything else that is not the answer ends the process.
  base::Json ask(const base::Json& request, double timeout_s, base::ErrorCode refusal);
  std::string exchange(const std::string& line, const std::string& type, double timeout_s);
  [[noreturn]] void give_up(const std::string& problem);
  // Ends the process if `parse` finds the answer broken.
  template <typename Parse>
  auto checked(Parse parse);

  WorkerSpec spec_;
  Process process_;
  record::WorkerHello hello_;
  std::map<std::string, std::string> factors_;  // hot ones in use
  std::string broken_;                          // why the process was given up, or empty
  int exit_code_ = -1;                          // once it has ended
};

}  // namespace abba::workers
