#include "harness/run/live_worker.h"

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

void set_up(Session& session, const std::string& arm, LiveWorker& live, store::Facts& facts) {
  auto& clock = session.with.clock;
  const record::WorkerHello hello = live.worker->hello();
  require_abilities(session.in.manifest, arm, hello);
  const record::LoadRequest request = load_request(session.in, arm);
  session.require_going("worker " + arm + " was loaded");
  const std::int64_t load_ns = clock.steady_ns();
  const record::LoadReply reply = live.worker->load(request);
  live.process.setup_ns["load"] = seconds_ns(clock, load_ns);
  for (const auto& [name, ns] : reply.setup_ns) {
    live.process.setup_ns["worker/" + name] = ns;
  }
  require_effective(arm, hello, request, reply);
  check_reported_device(session, arm, reply, facts);
  for (const auto& workload : session.in.manifest.workloads) {
    session.require_going("worker " + arm + " prepared " + workload.id);
    const std::int64_t prepare_ns = clock.steady_ns();
    const auto prepared = live.worker->prepare(workload, session.in.manifest.protocol.seed);
    live.process.setup_ns["prepare/" + workload.id] = seconds_ns(clock, prepare_ns);
    if (prepared.first_request_ns >= 0) {
      live.process.setup_ns["first_request/" + workload.id] = prepared.first_request_ns;
    }
    const std::string key = arm + "/" + workload.id;
    if (session.record.prepared.find(key) == session.record.prepared.end()) {
      facts.prepared[key] = prepared;
    }
  }
  live.process.cpus = live.worker->cpus();
  require_affinity(arm, session.in.cpus.worker, live.process.cpus);
  if (session.record.hello.find(arm) == session.record.hello.end()) {
    facts.hello[arm] = hello;
    facts.load[arm] = reply;
  }
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

LiveWorker spawn_worker(Session& session, const WorkerStart& start, workers::FileDigests& digests) {
  workers::WorkerSpec spec = worker_spec(session.in, start.arm, start.pass);
  spec.environment.insert(start.environment.begin(), start.environment.end());
  spec.digests = &digests;
  spec.stop = session.with.kill_requested;
  const std::int64_t begin_ns = session.with.clock.steady_ns();
  LiveWorker live;
  live.worker = session.with.spawn(spec);
  live.process.id = session.next_id();
  live.process.arm = start.serves.empty() ? start.arm : start.serves;
  live.process.pass = start.pass_index;
  live.process.pid = live.worker->pid();
  live.process.command_digest = base::sha256_hex(base::join(spec.argv, "\n"));
  live.process.setup_ns["spawn"] = seconds_ns(session.with.clock, begin_ns);
  return live;
}

store::Facts make_ready(Session& session, const WorkerStart& start, LiveWorker& live) {
  store::Facts facts;
  const std::string key = "worker/" + std::to_string(live.process.id);
  const workers::WorkerSpec spec = worker_spec(session.in, start.arm, start.pass);
  facts.private_strings[key + "/command"] = base::join(spec.argv, " ");
  record::EnvironmentReading padding;
  padding.time_ns = session.with.clock.steady_ns();
  padding.key = key + "/padding_bytes";
  padding.value = static_cast<double>(spec.padding_bytes);
  padding.unit = "bytes";
  facts.environment.push_back(padding);
  set_up(session, start.arm, live, facts);
  facts.environment.push_back(
      placement_of(start.arm, live.process, session.in, session.with.clock.steady_ns()));
  facts.workers.push_back(live.process);
  return facts;
}

record::WorkerProcess end_worker(LiveWorker& live) {
  live.process.exit_code = live.worker->shutdown();
  live.process.last_stderr = live.worker->stderr_tail();
  return live.process;
}

// Files are common to the arms and live as long as the run: one changed between two passes would
// give the later ones other contents under the same name.
void require_files(Session& session, store::Facts& facts) {
  if (!session.with.file_digests) {
    return;
  }
  std::map<std::string, std::string> digests;
  try {
    digests = session.with.file_digests();
  } catch (const Error& error) {
    refuse_binding(error.where(), error.message());
  }
  for (const auto& [name, digest] : digests) {
    const record::Binding* same = find_binding(session.record.bindings, name);
    if (same == nullptr) {
      facts.bindings.push_back({name, digest});
    } else if (same->value != digest) {
      refuse_binding(name, "changed since this run was bound (" +
                               record::short_digest(same->value) + " then, " +
                               record::short_digest(digest) + " now)");
    }
  }
}

void require_bound(Session& session, const std::string& arm, const workers::Worker& worker,
                   workers::FileDigests& digests, bool just_started, store::Facts& facts) {
  const auto now = bindings_of(arm, session.in.commands.at(arm), worker, digests);
  const bool bound = std::any_of(session.record.bindings.begin(), session.record.bindings.end(),
                                 [&](const auto& b) { return belongs_to(b, arm); });
  if (bound) {
    require_same(session.record.bindings, now, arm, just_started);
    return;
  }
  for (const auto& binding : now) {
    const auto fixed = session.in.fixed_hashes.find(binding.name);
    if (fixed != session.in.fixed_hashes.end() && fixed->second != binding.value) {
      throw Error(
          ErrorCode::kMismatch, binding.name,
          "has SHA-256 " + binding.value + " but the registration demands " + fixed->second);
    }
    facts.bindings.push_back(binding);
  }
  for (const auto& name : require_as_earlier(session.in.earlier, now, arm)) {
    facts.notes.push_back(make_note(kRebuilt, name, "as bound by " + session.in.earlier.run_file));
  }
}

}  // namespace abba::run
