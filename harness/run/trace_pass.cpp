#include "harness/run/trace_pass.h"

#include <unistd.h>

#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "harness/plan/make_plan.h"
#include "harness/run/notes.h"
#include "harness/run/slot_exchange.h"
#include "harness/trace/requests.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

// What is known of a trace besides its rows, as readings of its slot.
std::vector<record::EnvironmentReading> readings_of(const trace::TraceFile& file,
                                                    const trace::Kept& kept, std::int64_t slot,
                                                    std::int64_t now_ns) {
  std::vector<record::EnvironmentReading> readings;
  const auto add = [&](const char* key, double value, const char* unit, std::string text = "") {
    readings.push_back({slot, now_ns, "after", key, value, unit, std::move(text)});
  };
  const auto info = [&](const char* key) {
    const auto found = file.info.find(key);
    return found == file.info.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* key) {
    return static_cast<double>(std::strtoll(info(key).c_str(), nullptr, 10));
  };
  const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
  add(record::kTraceStatus, 0, "", trace::lack_of(file).empty() ? "complete" : "incomplete");
  add(record::kTraceMode, 0, "", info(trace::kInfoMode));
  add(record::kTraceCupti, number(trace::kInfoCupti), "version");
  add(record::kTraceBuffer, number(trace::kInfoBuffer), "bytes");
  add(record::kTraceRequests, count(kept.requests), "requests");
  add(record::kTraceDropped, count(file.end.dropped), "records");
  add(record::kTraceCut, count(file.end.cut + kept.cut), "records");
  add(record::kTraceStrange, count(file.end.strange), "records");
  return readings;
}

}  // namespace

std::string TraceWork::lack(const record::WorkerHello&) const {
  return tracer_.lack.empty() ? "" : "cannot be traced here: " + tracer_.lack;
}

std::map<std::string, std::string> TraceWork::environment(const std::string& arm) {
  if (!folder_) {
    folder_.emplace();
  }
  file_ = folder_->file(arm + ".trace");
  return trace::traced_environment(tracer_, file_);
}

void TraceWork::run(Session& session, const LaterArm& arm, const record::PlannedBlock& planned) {
  record::Block block;
  block.id = session.next_id();
  block.phase = record::Phase::kTrace;
  block.workload = planned.workload;
  block.slot_order = arm.arm;
  record::Slot& slot = block.slots.emplace_back();
  slot.id = session.next_id();
  slot.block = block.id;
  slot.arm = arm.arm;
  slot.worker = arm.worker_id;
  const record::SlotRequest request =
      slot_request(session, slot, session.boundaries(session.workload(block.workload)),
                   plan::trace_counts(session.in.manifest, block.workload));
  block.boundary = request.boundaries.empty() ? "" : request.boundaries.front();
  slot.start_ns = session.with.clock.steady_ns();
  slot.idle_gap_ns = slot.start_ns - session.last_slot_end_ns;
  record::SlotReply reply = arm.worker.slot(request);
  slot.end_ns = session.last_slot_end_ns = session.with.clock.steady_ns();
  session.requests += static_cast<std::int64_t>(reply.samples.size());
  keep_answer(slot, std::move(reply));
  pass_ = &arm.pass;
  blocks_.push_back(std::move(block));
  if (arm.worker.pid() == 0) {  // a program of its own for each slot: it has ended
    take_file(session, arm.arm);
  }
}

void TraceWork::ended(Session& session, const std::string& arm, std::int64_t) {
  take_file(session, arm);
}

// Reads what the tracer wrote for the slots since the last call and stores them with their rows.
void TraceWork::take_file(Session& session, const std::string& arm) {
  std::vector<record::Block> blocks = std::exchange(blocks_, {});
  if (blocks.empty()) {
    return;
  }
  if (access(file_.c_str(), F_OK) != 0) {
    session.note(kNothingTraced, "arm " + arm,
                 "the tracer was never called: no CUDA was used in its worker");
    return;
  }
  trace::TraceFile file;
  try {
    file = trace::read_trace_file(file_);
  } catch (const Error& error) {
    throw Error(ErrorCode::kBroken, "", "the trace of arm " + arm + " " + error.message());
  }
  unlink(file_.c_str());
  const std::string lack = trace::lack_of(file);
  if (!lack.empty()) {
    session.note(kTraceIncomplete, "arm " + arm, lack);
  }
  for (record::Block& block : blocks) {
    store(session, file, block);
  }
}

void TraceWork::store(Session& session, const trace::TraceFile& file, record::Block& block) {
  record::Slot& slot = block.slots.front();
  trace::Kept kept = trace::keep_requests(
      file.records, trace::windows_of(slot, std::numeric_limits<std::size_t>::max()));
  const auto readings = readings_of(file, kept, slot.id, session.with.clock.steady_ns());
  std::vector<record::Note> notes;
  const std::string where = block.workload + ", arm " + slot.arm;
  if (kept.cut > 0) {
    notes.push_back(make_note(kTraceCut, where,
                              std::to_string(kept.requests) + " requests are stored, " +
                                  std::to_string(kept.cut) + " records of later ones are not"));
  }
  if (kept.rows.kernels.empty() && kept.rows.copies.empty()) {
    notes.push_back(make_note(kNothingTraced, where, "no kernel and no copy ran in its requests"));
  }
  slot.trace = std::move(kept.rows);
  session.commit_block(pass_->id(), block, readings, notes);
  pass_->stored().blocks.push_back(std::move(block));
}

}  // namespace abba::run
