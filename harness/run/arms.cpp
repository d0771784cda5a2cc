#include "harness/run/arms.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/host/affinity.h"
#include "harness/run/bindings.h"
#include "harness/run/device_binding.h"
#include "harness/run/notes.h"
#include "harness/run/worker_checks.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

double seconds_ns(host::Clock& clock, std::int64_t since_ns) {
  return static_cast<double>(clock.steady_ns() - since_ns);
}

void merge_settings(base::Json& settings, const base::Json& over) {
  if (over.is_object()) {
    for (const auto& [key, value] : over.as_object()) {
      settings.set(key, value);
    }
  }
}

// What the kernel grants all threads of a worker, read back once it is ready; a program that is
// started per slot has none yet. Throws kPreflight if memory was to be bound and is not.
record::EnvironmentReading placement_of(const std::string& arm,
                                        const record::WorkerProcess& process, const RunInputs& in,
                                        std::int64_t now_ns) {
  record::EnvironmentReading reading;
  reading.time_ns = now_ns;
  reading.key = "worker/" + std::to_string(process.id) + "/placement";
  if (process.pid <= 0) {
    reading.text = "unreadable: started for each slot";
    return reading;
  }
  try {
    const auto applied = host::read_affinity(static_cast<pid_t>(process.pid), in.cpus.worker);
    reading.text = host::placement_text(applied);
    const bool bound = applied.memory_policy.rfind("bind", 0) == 0;
    if (in.manifest.affinity.bind_memory && !bound) {
      throw Error(ErrorCode::kPreflight, "worker " + arm,
                  "was to have its memory bound but has the policy " + applied.memory_policy +
                      "; leave out affinity.bind_memory where the kernel does not grant it");
    }
  } catch (const Error& error) {
    if (in.manifest.affinity.bind_memory) {
      throw;
    }
    reading.text = std::string("unreadable: ") + error.what();
  }
  return reading;
}

}  // namespace

workers::WorkerSpec worker_spec(const RunInputs& in, const std::string& arm,
                                const record::PlannedPass& pass) {
  workers::WorkerSpec spec;
  const ArmCommand& command = in.commands.at(arm);
  spec.name = arm;
  spec.argv = command.argv;
  spec.reads = command.reads;
  spec.timeouts = in.manifest.protocol.limits.timeouts;
  spec.padding_seed = pass.padding_seed + (arm == "A" ? 0 : 1);
  spec.padding_bytes = workers::draw_padding(spec.padding_seed);
  spec.cpus = in.cpus.worker;
  if (in.device.chosen()) {
    spec.environment["CUDA_VISIBLE_DEVICES"] = in.device.uuid;
  }
  spec.memory_node = in.manifest.affinity.bind_memory ? in.manifest.affinity.numa_node : -1;
  return spec;
}

record::LoadRequest load_request(const RunInputs& in, const std::string& arm) {
  record::LoadRequest request;
  request.settings = in.manifest.settings;
  if (arm == "reference") {
    merge_settings(request.settings, in.manifest.outputs.reference.settings);
  } else {
    request.factors = in.manifest.arm(arm).factors;
    request.inject = in.manifest.arm(arm).inject;
  }
  for (const auto& file : in.files) {
    request.files[file.name] = file.path.string();
  }
  request.device = in.device.chosen() ? in.device.uuid : in.manifest.device.wanted;
  return request;
}

Arms::~Arms() = default;

record::Placement Arms::placement() const {
  return session_.in.manifest.protocol.placement;
}

std::string Arms::owner(const std::string& arm) const {
  return placement() == record::Placement::kSharedProcess ? live_.begin()->first : arm;
}

std::vector<std::string> Arms::served_by(const std::string& owner) const {
  if (placement() == record::Placement::kSharedProcess) return {"A", "B"};
  return {owner};
}

workers::Worker& Arms::worker(const std::string& arm) {
  if (placement() == record::Placement::kOneAtATime && live_.count(arm) == 0) {
    start_alone(arm);
  }
  workers::Worker& worker = *live_.at(owner(arm)).worker;
  if (placement() == record::Placement::kSharedProcess) {
    worker.use_factors(session_.in.manifest.arm(arm).factors);
  }
  return worker;
}

workers::Worker& Arms::for_slot(const std::string& arm) {
  if (placement() == record::Placement::kOneAtATime) {
    start_alone(arm);
  }
  return worker(arm);
}

std::int64_t Arms::worker_id(const std::string& arm) const {
  return live_.at(owner(arm)).process.id;
}

std::vector<pid_t> Arms::pids() const {
  std::vector<pid_t> pids;
  for (const auto& [arm, live] : live_) {
    pids.push_back(live.worker->pid());
  }
  return pids;
}

void Arms::start(const record::PlannedPass& pass, int pass_index) {
  stop();
  pass_ = pass;
  pass_index_ = pass_index;
  started_ = true;
  const std::int64_t begin_ns = session_.with.clock.steady_ns();
  try {
    start_for_placement();
  } catch (const Error&) {
    stop();
    throw;
  }
  session_.start_s = seconds_ns(session_.with.clock, begin_ns) * 1e-9;
}

// One at a time: every slot starts its own, but before the first both are tried, so that a worker
// that cannot get ready is a preflight that failed.
void Arms::start_for_placement() {
  const bool alone = placement() == record::Placement::kOneAtATime;
  if (alone && session_.record.hello.size() == 2) {
    return;
  }
  for (const char letter : pass_.start_order) {
    const std::string arm(1, letter);
    session_.require_going("worker " + arm + " was started");
    if (alone) {
      start_alone(arm);
    } else {
      start_one(arm);
    }
    if (placement() == record::Placement::kSharedProcess) {
      break;
    }
  }
  watch();
  require_bindings(true);
}

void Arms::start_alone(const std::string& arm) {
  end_live();
  start_one(arm);
  watch();
  require_bindings(true);
}

void Arms::watch() {
  session_.with.environment.set_workers(pids());
}

void Arms::start_one(const std::string& arm) {
  auto& clock = session_.with.clock;
  const bool shared = placement() == record::Placement::kSharedProcess;
  workers::WorkerSpec spec = worker_spec(session_.in, arm, pass_);
  spec.digests = &digests_;
  spec.stop = session_.with.kill_requested;
  const std::int64_t begin_ns = clock.steady_ns();
  Live live;
  live.worker = session_.with.spawn(spec);
  live.process.id = session_.next_id();
  live.process.arm = shared ? record::kBothArms : arm;
  live.process.pass = pass_index_;
  live.process.pid = live.worker->pid();
  live.process.command_digest = base::sha256_hex(base::join(spec.argv, "\n"));
  live.process.setup_ns["spawn"] = seconds_ns(clock, begin_ns);
  Live& kept = live_[arm] = std::move(live);
  store::Facts facts;
  const std::string key = "worker/" + std::to_string(kept.process.id) + "/command";
  facts.private_strings[key] = base::join(spec.argv, " ");
  record::EnvironmentReading padding;
  padding.time_ns = clock.steady_ns();
  padding.key = "worker/" + std::to_string(kept.process.id) + "/padding_bytes";
  padding.value = static_cast<double>(spec.padding_bytes);
  padding.unit = "bytes";
  facts.environment.push_back(padding);
  set_up(arm, kept, facts);
  if (shared) {
    describe_shared(arm, facts);
  }
  facts.environment.push_back(placement_of(arm, kept.process, session_.in, clock.steady_ns()));
  facts.workers.push_back(kept.process);
  session_.commit("worker", facts);
}

void Arms::set_up(const std::string& arm, Live& live, store::Facts& facts) {
  auto& clock = session_.with.clock;
  const record::WorkerHello hello = live.worker->hello();
  require_abilities(session_.in.manifest, arm, hello);
  const record::LoadRequest request = load_request(session_.in, arm);
  session_.require_going("worker " + arm + " was loaded");
  const std::int64_t load_ns = clock.steady_ns();
  const record::LoadReply reply = live.worker->load(request);
  live.process.setup_ns["load"] = seconds_ns(clock, load_ns);
  for (const auto& [name, ns] : reply.setup_ns) {
    live.process.setup_ns["worker/" + name] = ns;
  }
  require_effective(arm, hello, request, reply);
  check_reported_device(session_, arm, reply, facts);
  for (const auto& workload : session_.in.manifest.workloads) {
    session_.require_going("worker " + arm + " prepared " + workload.id);
    const std::int64_t prepare_ns = clock.steady_ns();
    const auto prepared = live.worker->prepare(workload, session_.in.manifest.protocol.seed);
    live.process.setup_ns["prepare/" + workload.id] = seconds_ns(clock, prepare_ns);
    if (prepared.first_request_ns >= 0) {
      live.process.setup_ns["first_request/" + workload.id] = prepared.first_request_ns;
    }
    const std::string key = arm + "/" + workload.id;
    if (session_.record.prepared.find(key) == session_.record.prepared.end()) {
      facts.prepared[key] = prepared;
    }
  }
  live.process.cpus = live.worker->cpus();
  require_affinity(arm, session_.in.cpus.worker, live.process.cpus);
  if (session_.record.hello.find(arm) == session_.record.hello.end()) {
    facts.hello[arm] = hello;
    facts.load[arm] = reply;
  }
}

// The other arm of a shared process: the same declaration and readiness, its own hot levels, which
// every answer has to confirm.
void Arms::describe_shared(const std::string& arm, store::Facts& facts) const {
  if (facts.hello.empty()) {
    return;
  }
  const std::string other = arm == "A" ? "B" : "A";
  facts.hello[other] = facts.hello.at(arm);
  record::LoadReply reply = facts.load.at(arm);
  for (const auto& [factor, level] : session_.in.manifest.arm(other).factors) {
    reply.factors[factor] = level;
  }
  facts.load[other] = reply;
  const auto prepared = facts.prepared;
  for (const auto& [key, reply_of_arm] : prepared) {
    facts.prepared[other + key.substr(1)] = reply_of_arm;
  }
}

// Files are common to the arms and live as long as the run: one changed between two passes would
// give the later ones other contents under the same name.
void Arms::require_files(store::Facts& facts) {
  if (!session_.with.file_digests) {
    return;
  }
  std::map<std::string, std::string> digests;
  try {
    digests = session_.with.file_digests();
  } catch (const Error& error) {
    refuse_binding(error.where(), error.message());
  }
  for (const auto& [name, digest] : digests) {
    const record::Binding* same = find_binding(session_.record.bindings, name);
    if (same == nullptr) {
      facts.bindings.push_back({name, digest});
    } else if (same->value != digest) {
      refuse_binding(name, "changed since this run was bound (" +
                               record::short_digest(same->value) + " then, " +
                               record::short_digest(digest) + " now)");
    }
  }
}

void Arms::require_bindings(bool just_started) {
  store::Facts facts;
  require_files(facts);
  for (const auto& [name, live] : live_) {
    for (const std::string& arm : served_by(name)) {
      require_bindings_of(arm, *live.worker, just_started, facts);
    }
  }
  if (!facts.bindings.empty()) {
    session_.commit("bindings", facts);
  }
}

void Arms::require_bindings_of(const std::string& arm, const workers::Worker& worker,
                               bool just_started, store::Facts& facts) {
  const auto now = bindings_of(arm, session_.in.commands.at(arm), worker, digests_);
  const bool bound = std::any_of(session_.record.bindings.begin(), session_.record.bindings.end(),
                                 [&](const auto& b) { return belongs_to(b, arm); });
  if (bound) {
    require_same(session_.record.bindings, now, arm, just_started);
    return;
  }
  for (const auto& binding : now) {
    const auto fixed = session_.in.fixed_hashes.find(binding.name);
    if (fixed != session_.in.fixed_hashes.end() && fixed->second != binding.value) {
      throw Error(
          ErrorCode::kMismatch, binding.name,
          "has SHA-256 " + binding.value + " but the registration demands " + fixed->second);
    }
    facts.bindings.push_back(binding);
  }
  for (const auto& name : require_as_earlier(session_.in.earlier, now, arm)) {
    facts.notes.push_back(make_note(kRebuilt, name, "as bound by " + session_.in.earlier.run_file));
  }
}

void Arms::stop() {
  end_live();
  started_ = false;
}

void Arms::end_live() {
  store::Facts facts;
  for (auto& [arm, live] : live_) {
    live.process.exit_code = live.worker->shutdown();
    live.process.last_stderr = live.worker->stderr_tail();
    facts.workers.push_back(live.process);  // also one that never got ready: how it ended is data
  }
  live_.clear();
  session_.with.environment.set_workers({});
  if (!facts.workers.empty()) {
    session_.commit("worker-end", facts);
  }
}

}  // namespace abba::run
