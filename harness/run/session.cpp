#include "harness/run/session.h"

#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "harness/run/notes.h"

namespace abba::run {
namespace {

std::int64_t last_used_id(const record::RunRecord& record) {
  std::int64_t last = 0;
  for (const auto& worker : record.workers) {
    last = std::max(last, worker.id);
  }
  for (const auto& pass : record.passes) {
    last = std::max(last, pass.id);
    for (const auto& block : pass.blocks) {
      last = std::max(last, block.id);
      for (const auto& slot : block.slots) {
        last = std::max(last, slot.id);
      }
    }
  }
  return last;
}

void merge_workers(std::vector<record::WorkerProcess>& known,
                   const std::vector<record::WorkerProcess>& changed) {
  for (const auto& worker : changed) {
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const auto& other) { return other.id == worker.id; });
    if (same == known.end()) {
      known.push_back(worker);
    } else {
      *same = worker;
    }
  }
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Session::Session(const RunInputs& inputs, Collaborators& collaborators)
    : in(inputs), with(collaborators) {
  if (in.resume_from != nullptr) {
    record = *in.resume_from;
    last_id_ = last_used_id(record);
    for (const auto& pass : record.passes) {
      for (const auto& block : pass.blocks) {
        for (const auto& slot : block.slots) {
          requests += static_cast<std::int64_t>(slot.samples.size());
          earlier_s += static_cast<double>(slot.end_ns - slot.start_ns) * 1e-9;
        }
      }
    }
  }
  record.manifest = in.manifest;
  record.plan = in.plan;
  record.exploratory = in.exploratory;
  start_ns = with.clock.steady_ns();
  last_slot_end_ns = start_ns;
}

void Session::commit(std::string_view kind, const store::Facts& facts) {
  try {
    with.sink.commit_facts(kind, facts);
  } catch (const base::Error&) {
    sink_failed = true;
    throw;
  }
  append(record.bindings, facts.bindings);
  for (const auto& [arm, hello] : facts.hello) record.hello[arm] = hello;
  for (const auto& [arm, load] : facts.load) record.load[arm] = load;
  for (const auto& [key, prepared] : facts.prepared) record.prepared[key] = prepared;
  append(record.counts, facts.counts);
  merge_workers(record.workers, facts.workers);
  append(record.identity, facts.identity);
  append(record.environment, facts.environment);
  append(record.output_checks, facts.output_checks);
  append(record.graph_captures, facts.graph_captures);
  append(record.notes, facts.notes);
}

void Session::note(std::string_view code, std::string where, std::string text) {
  store::Facts facts;
  facts.notes.push_back(make_note(code, std::move(where), std::move(text)));
  commit("note", facts);
  with.observer.note(facts.notes.back());
}

void Session::commit_block(std::int64_t pass_id, const record::Block& block,
                           const std::vector<record::EnvironmentReading>& readings,
                           const std::vector<record::Note>& notes) {
  try {
    with.sink.commit_block(pass_id, block, readings, notes);
  } catch (const base::Error&) {
    sink_failed = true;
    throw;
  }
  for (const auto& note : notes) {
    with.observer.note(note);
  }
  append(record.environment, readings);
  append(record.notes, notes);
}

double Session::elapsed_s() {
  return static_cast<double>(with.clock.steady_ns() - start_ns) * 1e-9 + earlier_s;
}

std::string Session::time_limit_reached() {
  const double max_wall_s = in.manifest.protocol.limits.max_wall_s;
  if (elapsed_s() <= max_wall_s) {
    return "";
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.6g", max_wall_s);
  return std::string("stopped by limits.max_wall_s (") + seconds + " s)";
}

std::string Session::limit_reached() {
  const std::int64_t max_requests = in.manifest.protocol.limits.max_requests;
  std::string reached = time_limit_reached();
  if (reached.empty() && requests >= max_requests) {
    reached = "stopped by limits.max_requests (" + std::to_string(max_requests) + ")";
  }
  return reached;
}

void Session::require_going(const std::string& step) const {
  if (with.stop_requested && with.stop_requested()) {
    throw StopRequest{"stopped on request before " + step};
  }
}

bool Session::killed_on_request() const {
  return !sink_failed && with.kill_requested && with.kill_requested();
}

double Session::expected_slot_s(const std::string& arm, const std::string& workload_id,
                                std::int64_t count) const {
  constexpr double kUnknownS = 60;
  const auto prepared = record.prepared.find(arm + "/" + workload_id);
  const bool known = prepared != record.prepared.end() && prepared->second.first_request_ns > 0;
  return known ? static_cast<double>(count) * prepared->second.first_request_ns * 1e-9 : kUnknownS;
}

const record::SlotCounts* Session::counts(const std::string& workload_id) const {
  for (const auto& counts : record.counts) {
    if (counts.workload == workload_id) {
      return &counts;
    }
  }
  return nullptr;
}

const record::Workload& Session::workload(const std::string& id) const {
  for (const auto& workload : in.manifest.workloads) {
    if (workload.id == id) {
      return workload;
    }
  }
  ABBA_CHECK(!"a planned block names a declared workload");
  return in.manifest.workloads.front();
}

std::vector<std::string> Session::boundaries(const record::Workload& workload) const {
  if (!workload.boundaries.empty()) {
    return workload.boundaries;
  }
  const auto hello = record.hello.find("A");
  if (hello != record.hello.end() && !hello->second.boundaries.empty()) {
    return {hello->second.boundaries.front().name};  // the default, as the kit has it
  }
  return {};
}

}  // namespace abba::run
