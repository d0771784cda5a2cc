// A world for carry_out() without processes, files or waiting: workers whose behaviour a test
// scripts, a sink in memory that can fail, a clock that only moves when work is done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/plan/make_plan.h"
#include "harness/run/carry_out.h"
#include "harness/run/collaborators.h"

namespace abba::run {

// Shared by all workers of a test; the test changes it before or while they run.
struct Script {
  std::map<std::string, double> request_ns = {{"A", 20e6}, {"B", 30e6}, {"reference", 1e6}};
  std::map<std::string, std::string> digest = {{"A", "same"}, {"B", "same"}, {"reference", "same"}};
  std::map<std::string, std::vector<float>> values = {
      {"A", {1.5F, -2.25F}}, {"B", {1.5F, -2.25F}}, {"reference", {1.5F, -2.25F}}};
  std::vector<std::string> capabilities = {"load", "outputs"};
  bool hot = true;                               // the factor "speed"
  std::map<std::string, std::string> effective;  // factor -> level reported instead of the asked
  std::map<std::string, std::string> library = {{"A", "aa11"}, {"B", "bb22"}, {"reference", "cc"}};
  std::vector<int> cpus = {1};
  std::map<std::string, base::Json> device;  // what an arm's load reply says of its device
  bool unsteady = false;                     // outputs change at every call
  record::FlushCheck flush;                  // what a slot that asks for it answers
  std::int64_t failures = 0;                 // failed requests a slot
  std::int64_t samples_short = 0;
  std::function<void(const std::string& arm, std::int64_t slot_call)> at_slot;          // may throw
  std::function<void(const std::string& arm, int start)> at_start;                      // may throw
  std::function<void(const std::string& arm, const std::string& workload)> at_capture;  // may throw

  std::vector<std::string> log;                     // "start A", "slot A w1", "stop A", ...
  std::map<std::string, std::string> asked_device;  // of the last load message, by arm
  std::map<std::string, std::string> environment;   // of the last start
  int starts = 0;
  std::int64_t slots = 0;
  [[nodiscard]] std::string slot_letters(const std::string& workload) const;
};

class FakeWorker : public workers::Worker {
 public:
  FakeWorker(std::string arm, Script& script, host::FakeClock& clock);
  record::WorkerHello hello() override;
  record::LoadReply load(const record::LoadRequest& request) override;
  record::PrepareReply prepare(const record::Workload& workload, std::uint64_t seed) override;
  record::SlotReply slot(const record::SlotRequest& request) override;
  std::vector<record::OutputTensor> outputs(const std::string& workload,
                                            const std::vector<std::string>& stages,
                                            bool with_values) override;
  std::vector<record::CaptureCosts> graph_capture(const std::string& workload) override;
  void use_factors(const std::map<std::string, std::string>& factors) override;
  int shutdown() override;
  [[nodiscard]] pid_t pid() const override { return started_as_ == "A" ? 1001 : 1002; }
  [[nodiscard]] std::vector<std::string> stderr_tail() const override { return {"last words"}; }
  [[nodiscard]] std::vector<int> cpus() const override { return script_.cpus; }
  [[nodiscard]] std::vector<record::Binding> files() const override;

 private:
  std::string arm_;  // that it acts as now
  std::string started_as_;
  Script& script_;
  host::FakeClock& clock_;
};

class FakeSink final : public store::ResultSink {
 public:
  int fail_after = -1;  // calls that succeed; negative = all
  int calls = 0;
  std::vector<std::string> kinds;
  std::vector<record::Pass> passes;  // with their committed blocks
  std::vector<record::Note> notes;
  std::vector<record::Binding> bindings;
  std::vector<record::Identity> identity;
  std::vector<record::OutputCheck> output_checks;
  std::vector<record::GraphCapture> graph_captures;
  std::vector<record::WorkerProcess> workers;
  int analyses = 0;
  bool finished = false;
  record::RunState state = record::RunState::kRunning;
  std::string text;

  void commit_facts(std::string_view kind, const store::Facts& facts) override;
  void begin_pass(const record::Pass& pass) override;
  void end_pass(std::int64_t pass_id, std::int64_t end_ns) override;
  void supersede_pass(std::int64_t pass_id, std::string_view why) override;
  void commit_block(std::int64_t pass_id, const record::Block& block,
                    const std::vector<record::EnvironmentReading>& environment,
                    const std::vector<record::Note>& block_notes) override;
  void commit_analysis(const record::Analysis& analysis) override;
  std::string finish(record::RunState end_state, std::string_view end_text,
                     std::string_view utc) override;

 private:
  void call();
  record::Pass& pass(std::int64_t id);
};

class FakeEnvironment final : public Environment {
 public:
  host::SlotExposure exposure;
  std::vector<std::int64_t> tainted_slots;  // ordinals of after_slot() calls that see foreign load
  std::int64_t calls = 0;
  std::int64_t open_slot = -1;
  void set_workers(const std::vector<pid_t>& pids) override { workers = pids.size(); }
  void before_slot(std::int64_t slot, const std::vector<pid_t>& active) override;
  host::SlotExposure after_slot() override;
  std::vector<record::EnvironmentReading> take_readings() override;
  std::size_t workers = 0;
  std::size_t most_workers = 0;  // at any slot
  std::size_t active = 0;        // at the last slot

 private:
  std::vector<record::EnvironmentReading> readings_;
};

class FakeObserver final : public Observer {
 public:
  std::vector<Progress> seen;
  void progress(const Progress& progress) override { seen.push_back(progress); }
  void note(const record::Note&) override {}
};

// Two workloads, two passes of one ABBA block with fresh workers, 1 + 3 requests a slot.
record::Manifest small_manifest();

struct World {
  explicit World(record::Manifest chosen = small_manifest());
  RunResult run();
  RunResult resume(const record::RunRecord& from);
  [[nodiscard]] bool has_note(std::string_view code) const;

  record::Manifest manifest;
  host::FakeClock clock{1'000'000'000, 1000};
  Script script;
  FakeSink sink;
  FakeEnvironment environment;
  FakeObserver observer;
  std::function<bool()> stop;
  std::function<bool()> kill;  // a second Ctrl-C
  std::function<LookAnswer(const record::RunRecord&)> look;
  std::vector<std::string> ledger;
  std::map<std::string, ArmCommand> commands;
  host::DeviceChoice device;
  bool require_device = false;
  std::vector<int> looks;
  std::map<std::string, std::string> files;  // "file/NAME" -> digest now
  std::vector<record::Identity> identity;    // of the machine
  trace::Tracer tracer;
  EarlierBindings earlier;
  std::vector<std::string> known_events;  // heads of the ledger
  record::RunState analysed_state =
      record::RunState::kRunning;  // of the record analyze() was given
};

// What every ending must leave behind: passes in memory equal to those stored, every block with
// equal counts of both arms or marked failed, every pass ended or superseded. The first violation,
// or nothing.
std::string violation(const World& world, const RunResult& result);

}  // namespace abba::run
