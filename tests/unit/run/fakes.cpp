#include "tests/unit/run/fakes.h"

#include <algorithm>

#include "engine/base/error.h"

namespace abba::run {

using base::Error;
using base::ErrorCode;

std::string Script::slot_letters(const std::string& workload) const {
  std::string letters;
  for (const auto& line : log) {
    if (line.rfind("slot ", 0) == 0 && line.substr(7) == workload) {
      letters += line[5];
    }
  }
  return letters;
}

FakeWorker::FakeWorker(std::string arm, Script& script, host::FakeClock& clock)
    : arm_(std::move(arm)), started_as_(arm_), script_(script), clock_(clock) {
  script_.log.push_back("start " + arm_);
  const int start = script_.starts++;
  clock_.advance_ns(2'000'000);
  if (script_.at_start) {
    script_.at_start(arm_, start);
  }
}

record::WorkerHello FakeWorker::hello() {
  record::WorkerHello hello;
  hello.name = "fake";
  hello.boundaries = {{"request"}};
  hello.factors = {{"speed", {{"slow"}, {"fast"}}, "slow", script_.hot}};
  hello.capabilities = script_.capabilities;
  return hello;
}

record::LoadReply FakeWorker::load(const record::LoadRequest& request) {
  record::LoadReply reply;
  reply.settings = request.settings;
  reply.factors = request.factors;
  reply.device = script_.device[arm_];
  script_.asked_device[arm_] = request.device;
  for (const auto& [name, level] : script_.effective) {
    reply.factors[name] = level;
  }
  return reply;
}

record::PrepareReply FakeWorker::prepare(const record::Workload&, std::uint64_t) {
  record::PrepareReply reply;
  reply.first_request_ns = script_.request_ns.at(arm_);
  return reply;
}

record::SlotReply FakeWorker::slot(const record::SlotRequest& request) {
  script_.log.push_back("slot " + arm_ + " " + request.workload);
  const std::int64_t call = script_.slots++;
  if (script_.at_slot) {
    script_.at_slot(arm_, call);
  }
  record::SlotReply reply;
  const auto duration_ns = static_cast<std::int64_t>(script_.request_ns.at(arm_));
  for (std::int64_t i = 0; i < request.warmup + request.requests - script_.samples_short; ++i) {
    reply.samples.push_back({i, i < request.warmup, clock_.steady_ns(), duration_ns});
    clock_.advance_ns(duration_ns);
  }
  reply.failures = script_.failures;
  if (request.flush) {
    reply.flush = script_.flush;
  }
  reply.digest = request.digest ? script_.digest.at(arm_) : "";
  return reply;
}

std::vector<record::OutputTensor> FakeWorker::outputs(const std::string& workload,
                                                      const std::vector<std::string>&,
                                                      bool with_values) {
  script_.log.push_back("outputs " + arm_ + " " + workload);
  record::OutputTensor tensor;
  tensor.stage = "final";
  tensor.dtype = "F32";
  tensor.shape = {2};
  tensor.digest = script_.digest.at(arm_) + workload;
  if (script_.unsteady) {
    tensor.digest += std::to_string(script_.log.size());
  }
  if (with_values) {
    tensor.values = script_.values.at(arm_);
  }
  return {tensor};
}

std::vector<record::CaptureCosts> FakeWorker::graph_capture(const std::string& workload) {
  script_.log.push_back("capture " + arm_ + " " + workload);
  if (script_.at_capture) {
    script_.at_capture(arm_, workload);
  }
  clock_.advance_ns(5'000'000);
  record::CaptureCosts costs;
  costs.shape = "[2]";
  costs.first_run_ns = 900;
  costs.capture_ns = arm_ == "A" ? 100 : 200;
  return {costs};
}

// As small_manifest() gives them out.
void FakeWorker::use_factors(const std::map<std::string, std::string>& factors) {
  arm_ = factors.at("speed") == "slow" ? "A" : "B";
}

int FakeWorker::shutdown() {
  script_.log.push_back("stop " + started_as_);
  return 0;
}

std::vector<record::Binding> FakeWorker::files() const {
  return {{"library/" + started_as_ + "/lib.so", script_.library.at(started_as_)}};
}

void FakeSink::call() {
  if (fail_after >= 0 && calls >= fail_after) {
    throw Error(ErrorCode::kBroken, "run.sqlite", "No space left on device");
  }
  ++calls;
}

record::Pass& FakeSink::pass(std::int64_t id) {
  for (auto& pass : passes) {
    if (pass.id == id) {
      return pass;
    }
  }
  ABBA_CHECK(!"the pass was begun");
  return passes.front();
}

void FakeSink::commit_facts(std::string_view kind, const store::Facts& facts) {
  call();
  kinds.emplace_back(kind);
  notes.insert(notes.end(), facts.notes.begin(), facts.notes.end());
  bindings.insert(bindings.end(), facts.bindings.begin(), facts.bindings.end());
  identity.insert(identity.end(), facts.identity.begin(), facts.identity.end());
  output_checks.insert(output_checks.end(), facts.output_checks.begin(), facts.output_checks.end());
  graph_captures.insert(graph_captures.end(), facts.graph_captures.begin(),
                        facts.graph_captures.end());
  for (const auto& worker : facts.workers) {
    std::erase_if(workers, [&](const auto& other) { return other.id == worker.id; });
    workers.push_back(worker);
  }
}

void FakeSink::begin_pass(const record::Pass& pass) {
  call();
  passes.push_back(pass);
}

void FakeSink::end_pass(std::int64_t pass_id, std::int64_t end_ns) {
  call();
  pass(pass_id).end_ns = end_ns;
}

void FakeSink::supersede_pass(std::int64_t pass_id, std::string_view why) {
  call();
  pass(pass_id).superseded = true;
  pass(pass_id).why = why;
}

void FakeSink::commit_block(std::int64_t pass_id, const record::Block& block,
                            const std::vector<record::EnvironmentReading>&,
                            const std::vector<record::Note>& block_notes) {
  call();
  pass(pass_id).blocks.push_back(block);
  notes.insert(notes.end(), block_notes.begin(), block_notes.end());
}

void FakeSink::commit_analysis(const record::Analysis&) {
  call();
  ++analyses;
}

std::string FakeSink::finish(record::RunState end_state, std::string_view end_text,
                             std::string_view) {
  call();
  ABBA_CHECK(!finished);
  finished = true;
  state = end_state;
  text = end_text;
  return "head";
}

void FakeEnvironment::before_slot(std::int64_t slot, const std::vector<pid_t>& pids) {
  ABBA_CHECK(open_slot < 0);
  most_workers = std::max(most_workers, workers);
  active = pids.size();
  open_slot = slot;
  record::EnvironmentReading reading;
  reading.slot = slot;
  readings_.push_back(reading);
}

host::SlotExposure FakeEnvironment::after_slot() {
  ABBA_CHECK(open_slot >= 0);
  open_slot = -1;
  host::SlotExposure seen = exposure;
  seen.wall_ns = 1'000'000'000;
  if (std::find(tainted_slots.begin(), tainted_slots.end(), calls++) != tainted_slots.end()) {
    seen.worker_left_cpus = true;
  }
  return seen;
}

std::vector<record::EnvironmentReading> FakeEnvironment::take_readings() {
  return std::exchange(readings_, {});
}

record::Manifest small_manifest() {
  record::Manifest manifest;
  manifest.id = "small";
  manifest.a.id = "A";
  manifest.b.id = "B";
  manifest.a.factors = {{"speed", "slow"}};
  manifest.b.factors = {{"speed", "fast"}};
  manifest.workloads.resize(2);
  manifest.workloads[0].id = "w1";
  manifest.workloads[1].id = "w2";
  auto& protocol = manifest.protocol;
  protocol.passes = 2;
  protocol.blocks = 1;
  protocol.slot = {1, 0, 3, 0, 3, 1e6};
  manifest.outputs.rule = record::OutputsRule::kBitwise;
  return manifest;
}

World::World(record::Manifest chosen) : manifest(std::move(chosen)) {
  for (const std::string arm : {"A", "B"}) {
    commands[arm].argv = {"/bin/true", arm};
  }
}

RunResult World::run() {
  RunInputs in;
  in.manifest = manifest;
  in.plan = plan::make_plan(manifest);
  if (!looks.empty()) {
    in.plan.looks = looks;
  }
  in.commands = commands;
  in.cpus.worker = {1};
  in.device = device;
  in.require_device = require_device;
  in.identity = identity;
  in.tracer = tracer;
  in.earlier = earlier;
  in.known_events = known_events;
  Collaborators with{clock,
                     [&](const workers::WorkerSpec& spec) {
                       script.environment = spec.environment;
                       return std::make_unique<FakeWorker>(spec.name, script, clock);
                     },
                     sink,
                     environment,
                     observer,
                     stop,
                     look,
                     [this](const record::RunRecord& record) {
                       analysed_state = record.state;
                       return record::Analysis();
                     },
                     [&](record::LedgerEventKind kind, const base::Json&) {
                       ledger.push_back(std::to_string(static_cast<int>(kind)));
                       return "event " + std::to_string(ledger.size());
                     },
                     [this] { return files; },
                     kill};
  return carry_out(in, with);
}

RunResult World::resume(const record::RunRecord& from) {
  RunInputs in;
  in.manifest = manifest;
  in.plan = from.plan;
  in.commands = commands;
  in.cpus.worker = {1};
  in.device = device;
  in.require_device = require_device;
  in.identity = identity;
  in.tracer = tracer;
  in.resume_from = &from;
  sink.finished = false;
  Collaborators with{clock,
                     [&](const workers::WorkerSpec& spec) {
                       script.environment = spec.environment;
                       return std::make_unique<FakeWorker>(spec.name, script, clock);
                     },
                     sink,
                     environment,
                     observer,
                     stop,
                     look,
                     nullptr,
                     [&](record::LedgerEventKind kind, const base::Json&) {
                       ledger.push_back(std::to_string(static_cast<int>(kind)));
                       return "event " + std::to_string(ledger.size());
                     },
                     [this] { return files; },
                     kill};
  return carry_out(in, with);
}

bool World::has_note(std::string_view code) const {
  return std::any_of(sink.notes.begin(), sink.notes.end(),
                     [&](const auto& note) { return note.code == code; });
}

std::string violation(const World& world, const RunResult& result) {
  if (!world.sink.finished) return "no end";
  if (world.sink.state != result.state) return "another state stored than returned";
  if (result.record.passes.size() != world.sink.passes.size()) return "passes differ";
  std::int64_t last_end_ns = 0;
  for (std::size_t p = 0; p < world.sink.passes.size(); ++p) {
    const auto& stored = world.sink.passes[p];
    const auto& kept = result.record.passes[p];
    if (stored.superseded != kept.superseded || stored.blocks.size() != kept.blocks.size()) {
      return "a pass differs";
    }
    if (!stored.superseded && stored.end_ns == 0) return "a pass neither ended nor superseded";
    for (const auto& block : stored.blocks) {
      int lead = 0;
      for (const auto& slot : block.slots) {
        lead += slot.arm == "A" ? 1 : -1;
        if (slot.start_ns < last_end_ns && block.slots.size() != 2) return "slots overlap";
        last_end_ns = slot.end_ns;
      }
      const bool takes_turns = stored.phase != record::Phase::kTrace;
      if (takes_turns && !block.failed && (lead != 0 || block.slots.empty())) {
        return "an unequal block";
      }
    }
  }
  return "";
}

}  // namespace abba::run
