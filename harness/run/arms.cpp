#include "harness/run/arms.h"

#include "engine/base/error.h"

namespace abba::run {

using base::Error;

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
  session_.start_s = static_cast<double>(session_.with.clock.steady_ns() - begin_ns) * 1e-9;
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
  const bool shared = placement() == record::Placement::kSharedProcess;
  const WorkerStart start{arm, shared ? record::kBothArms : "", pass_, pass_index_, {}};
  LiveWorker& kept = live_[arm] = spawn_worker(session_, start, digests_);
  store::Facts facts = make_ready(session_, start, kept);
  if (shared) {
    describe_shared(arm, facts);
  }
  session_.commit("worker", facts);
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

void Arms::require_bindings(bool just_started) {
  store::Facts facts;
  require_files(session_, facts);
  for (const auto& [name, live] : live_) {
    for (const std::string& arm : served_by(name)) {
      require_bound(session_, arm, *live.worker, digests_, just_started, facts);
    }
  }
  if (!facts.bindings.empty()) {
    session_.commit("bindings", facts);
  }
}

void Arms::stop() {
  end_live();
  started_ = false;
}

void Arms::end_live() {
  store::Facts facts;
  for (auto& [arm, live] : live_) {
    facts.workers.push_back(end_worker(live));  // also one that never got ready: its end is data
  }
  live_.clear();
  session_.with.environment.set_workers({});
  if (!facts.workers.empty()) {
    session_.commit("worker-end", facts);
  }
}

}  // namespace abba::run
