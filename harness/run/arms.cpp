#include "harness/run/arms.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/host/affinity.h"
#include "harness/run/device_binding.h"
#include "harness/workers/executable.h"

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

// Files of the command line and files mapped into the process; a script's interpreter comes second
// under a name of its own.
std::vector<record::Binding> bindings_of(const std::string& arm, const ArmCommand& command,
                                         const workers::Worker& worker,
                                         workers::FileDigests& digests) {
  std::vector<record::Binding> bindings = workers::hash_command(command.argv, arm, &digests);
  for (record::Binding binding : worker.files()) {
    const auto same_name = [&](const record::Binding& other) { return other.name == binding.name; };
    const auto found = std::find_if(bindings.begin(), bindings.end(), same_name);
    if (found != bindings.end() && found->value == binding.value) {
      continue;
    }
    if (found != bindings.end()) {
      binding.name = "running/" + binding.name;
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

// Those of an arm are named KIND/ARM/..., the others by the workload or file they are of.
bool kinds_of_arms(const std::string& kind) {
  return kind != "counts" && kind != "file" && kind != "input";
}

bool belongs_to(const record::Binding& binding, const std::string& arm) {
  const std::vector<std::string> parts = base::split(binding.name, '/');
  const std::size_t owner = parts[0] == "running" ? 2 : 1;
  return kinds_of_arms(parts[0]) && parts.size() > owner && parts[owner] == arm;
}

[[noreturn]] void refuse_binding(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::kMismatch, name,
              what +
                  "; what was measured before is kept. Measure with unchanged programs, or "
                  "register anew");
}

void require_same(const std::vector<record::Binding>& bound,
                  const std::vector<record::Binding>& now, const std::string& arm,
                  bool just_started) {
  for (const auto& binding : now) {
    const auto same = std::find_if(bound.begin(), bound.end(),
                                   [&](const auto& other) { return other.name == binding.name; });
    if (same == bound.end() && !just_started) {
      continue;
    }
    if (same == bound.end()) {
      refuse_binding(binding.name, "is used now but was not when this run was bound");
    }
    if (same->value != binding.value) {
      refuse_binding(binding.name, "is not what this run was bound to (" +
                                       same->value.substr(0, 8) + " then, " +
                                       binding.value.substr(0, 8) + " now)");
    }
  }
  for (const auto& binding : bound) {
    const bool gone = belongs_to(binding, arm) &&
                      std::none_of(now.begin(), now.end(),
                                   [&](const auto& other) { return other.name == binding.name; });
    if (gone) {
      refuse_binding(binding.name, "was used when this run was bound but is not now");
    }
  }
}

void require_affinity(const std::string& arm, const std::vector<int>& wanted,
                      const std::vector<int>& found) {
  if (!wanted.empty() && !found.empty() && wanted != found) {
    throw Error(ErrorCode::kPreflight, "worker " + arm,
                "may run on CPUs " + host::cpu_list_text(found) + " but was to be held on " +
                    host::cpu_list_text(wanted) + "; ask for CPUs that this machine grants");
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

void require_effective(const std::string& arm, const record::WorkerHello& hello,
                       const record::LoadRequest& asked, const record::LoadReply& reply) {
  const std::string where = "worker " + arm;
  const bool loads = std::find(hello.capabilities.begin(), hello.capabilities.end(), "load") !=
                     hello.capabilities.end();
  const bool asks =
      !asked.factors.empty() || (asked.settings.is_object() && !asked.settings.as_object().empty());
  if (!loads && asks) {
    throw Error(ErrorCode::kPreflight, where,
                "takes no settings or factors (it does not declare \"load\"); remove them from "
                "the manifest or use a worker that does");
  }
  for (const auto& [name, level] : asked.factors) {
    const auto effective = reply.factors.find(name);
    const std::string found = effective == reply.factors.end() ? "nothing" : effective->second;
    if (found != level) {
      throw Error(ErrorCode::kPreflight, where,
                  "was asked for " + name + " = " + level + " but reports " + found +
                      "; ask for a level that it can really run here");
    }
  }
  if (!asked.settings.is_object()) {
    return;
  }
  for (const auto& [key, value] : asked.settings.as_object()) {
    const base::Json* effective = reply.settings.find(key);
    if (effective == nullptr || !(*effective == value)) {
      throw Error(ErrorCode::kPreflight, where,
                  "was asked for setting " + key + " = " + value.dump() + " but reports " +
                      (effective == nullptr ? "nothing" : effective->dump()) +
                      "; ask for a value that it can really use here");
    }
  }
}

Arms::~Arms() = default;

workers::Worker& Arms::worker(const std::string& arm) {
  return *live_.at(arm).worker;
}

std::int64_t Arms::worker_id(const std::string& arm) const {
  return live_.at(arm).process.id;
}

void Arms::start(const record::PlannedPass& pass, int pass_index) {
  stop();
  const std::int64_t begin_ns = session_.with.clock.steady_ns();
  try {
    for (const char letter : pass.start_order) {
      session_.require_going("worker " + std::string(1, letter) + " was started");
      start_one(std::string(1, letter), pass, pass_index);
    }
    std::vector<pid_t> pids;
    for (const auto& [arm, live] : live_) {
      pids.push_back(live.worker->pid());
    }
    session_.with.environment.set_workers(pids);
    require_bindings(true);
  } catch (const Error&) {
    stop();
    throw;
  }
  session_.start_s = seconds_ns(session_.with.clock, begin_ns) * 1e-9;
}

void Arms::start_one(const std::string& arm, const record::PlannedPass& pass, int pass_index) {
  auto& clock = session_.with.clock;
  workers::WorkerSpec spec = worker_spec(session_.in, arm, pass);
  spec.digests = &digests_;
  spec.stop = session_.with.kill_requested;
  const std::int64_t begin_ns = clock.steady_ns();
  Live live;
  live.worker = session_.with.spawn(spec);
  live.process.id = session_.next_id();
  live.process.arm = arm;
  live.process.pass = pass_index;
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
  facts.environment.push_back(placement_of(arm, kept.process, session_.in, clock.steady_ns()));
  facts.workers.push_back(kept.process);
  session_.commit("worker", facts);
}

void Arms::set_up(const std::string& arm, Live& live, store::Facts& facts) {
  auto& clock = session_.with.clock;
  const record::WorkerHello hello = live.worker->hello();
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
  const auto& bound = session_.record.bindings;
  for (const auto& [name, digest] : digests) {
    const auto same = std::find_if(bound.begin(), bound.end(),
                                   [&](const auto& other) { return other.name == name; });
    if (same == bound.end()) {
      facts.bindings.push_back({name, digest});
    } else if (same->value != digest) {
      refuse_binding(name, "changed since this run was bound (" + same->value.substr(0, 8) +
                               " then, " + digest.substr(0, 8) + " now)");
    }
  }
}

void Arms::require_bindings(bool just_started) {
  store::Facts facts;
  require_files(facts);
  for (const auto& [arm, live] : live_) {
    const auto now = bindings_of(arm, session_.in.commands.at(arm), *live.worker, digests_);
    const bool bound = std::any_of(session_.record.bindings.begin(), session_.record.bindings.end(),
                                   [&](const auto& b) { return belongs_to(b, arm); });
    if (bound) {
      require_same(session_.record.bindings, now, arm, just_started);
      continue;
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
  }
  if (!facts.bindings.empty()) {
    session_.commit("bindings", facts);
  }
}

void Arms::stop() {
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
