#include "harness/run/block_runner.h"

#include <algorithm>
#include <exception>
#include <set>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/host/environment_watch.h"
#include "harness/run/interleaved.h"
#include "harness/run/notes.h"
#include "harness/run/slot_exchange.h"

namespace abba::run {
namespace {

// One block under way.
class BlockRun {
 public:
  BlockRun(Session& session, Arms& arms, const record::PlannedBlock& planned,
           const record::SlotCounts& counts)
      : session_(session), arms_(arms), planned_(planned), counts_(counts) {}

  BlockResult run(std::int64_t pass_id, record::Phase phase) {
    const auto& workload = session_.workload(planned_.workload);
    boundaries_ = session_.boundaries(workload);
    block_.id = session_.next_id();
    block_.phase = phase;
    block_.workload = planned_.workload;
    block_.boundary = boundaries_.empty() ? "" : boundaries_.front();
    block_.slot_order = planned_.slot_order;
    result_.end = BlockEnd::kDone;
    if (planned_.interleaved) {
      interleaved();
    } else {
      slots();
    }
    judge(phase);
    auto readings = session_.with.environment.take_readings();
    environment_.insert(environment_.begin(), readings.begin(), readings.end());
    session_.commit_block(pass_id, block_, environment_, notes_);
    result_.block = std::move(block_);
    if (mismatch_) std::rethrow_exception(mismatch_);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool stop_requested() const {
    return session_.with.stop_requested && session_.with.stop_requested();
  }

  void slots() {
    for (std::size_t i = 0; i < planned_.slot_order.size(); ++i) {
      if (stop_requested()) {
        stop_after(i);
        return;
      }
      if (!one_slot(static_cast<int>(i), std::string(1, planned_.slot_order[i]))) {
        return;
      }
    }
  }

  void stop_after(std::size_t done) {
    result_.end = BlockEnd::kStopped;
    result_.text = "stopped on request after slot " + std::to_string(done) + " of " +
                   std::to_string(planned_.slot_order.size());
  }

  [[nodiscard]] record::SlotRequest request_for(const record::Slot& slot) const {
    return slot_request(session_, slot, boundaries_, counts_);
  }

  record::Slot begin_slot(int position, const std::string& arm) {
    record::Slot slot;
    slot.id = session_.next_id();
    slot.block = block_.id;
    slot.position = position;
    slot.arm = arm;
    slot.worker = arms_.worker_id(arm);
    return slot;
  }

  void idle_gap() {
    const double gap_ms = session_.in.manifest.protocol.idle_gap_ms;
    if (gap_ms > 0) {
      session_.with.clock.sleep_ns(static_cast<std::int64_t>(gap_ms * 1e6));
    }
  }

  // The worker that the placement gives the slot; null if there is none, and then `result_` says
  // why. A changed binding ends the run, once what the block has so far is stored.
  workers::Worker* worker_for_slot(const std::string& arm) {
    try {
      return &arms_.for_slot(arm);
    } catch (const StopRequest& stop) {
      result_.end = BlockEnd::kStopped;
      result_.text = stop.text;
    } catch (const base::Error& error) {
      if (session_.sink_failed) {
        throw;
      }
      if (error.code() == base::ErrorCode::kMismatch) {
        mismatch_ = std::current_exception();
      }
      worker_failed(arm, error.what());
    }
    return nullptr;
  }

  bool one_slot(int position, const std::string& arm) {
    workers::Worker* worker = worker_for_slot(arm);
    if (worker == nullptr) {
      return false;
    }
    record::Slot slot = begin_slot(position, arm);
    idle_gap();
    session_.with.environment.before_slot(slot.id, {worker->pid()});
    slot.start_ns = session_.with.clock.steady_ns();
    slot.idle_gap_ns = slot.start_ns - session_.last_slot_end_ns;
    bool answered = false;
    try {
      const record::SlotRequest request = request_for(slot);
      record::SlotReply reply = worker->slot(request);
      require_complete(arm, request, reply);
      take(slot, std::move(reply));
      answered = true;
    } catch (const base::Error& error) {
      worker_failed(arm, error.message());
    }
    slot.end_ns = session_.with.clock.steady_ns();
    session_.last_slot_end_ns = slot.end_ns;
    expose(session_.with.environment.after_slot());
    if (answered) {
      session_.requests += static_cast<std::int64_t>(slot.samples.size());
      block_.slots.push_back(std::move(slot));
    }
    return result_.end == BlockEnd::kDone;
  }

  void interleaved() {
    if (stop_requested()) {
      stop_after(0);
      return;
    }
    InterleavedSlots both(planned_.slot_order, counts_);
    std::map<std::string, record::Slot> slots;
    for (const std::string& arm : both.arms()) {
      slots[arm] = begin_slot(static_cast<int>(slots.size()), arm);
    }
    idle_gap();
    const std::string first = both.arms().front();
    session_.with.environment.before_slot(slots[first].id, arms_.pids());
    const std::int64_t start_ns = session_.with.clock.steady_ns();
    std::string arm = first;
    try {
      while (both.next(arm)) {
        if (stop_requested()) {
          result_.end = BlockEnd::kStopped;
          result_.text = "stopped on request between two interleaved requests";
          break;
        }
        const auto request = both.request(arm, request_for(slots[arm]));
        record::SlotReply reply = arms_.worker(arm).slot(request);
        require_complete(arm, request, reply);
        check_flush(slots[arm].id, reply.flush);
        both.take(arm, std::move(reply), slots[arm]);
      }
    } catch (const base::Error& error) {
      worker_failed(arm, error.message());
    }
    expose(session_.with.environment.after_slot());
    for (const std::string& name : both.arms()) {
      record::Slot& slot = slots[name];
      slot.start_ns = start_ns;
      slot.end_ns = session_.with.clock.steady_ns();
      slot.idle_gap_ns = start_ns - session_.last_slot_end_ns;
      session_.requests += static_cast<std::int64_t>(slot.samples.size());
      block_.slots.push_back(std::move(slot));
    }
    session_.last_slot_end_ns = session_.with.clock.steady_ns();
  }

  // A worker answers what it was asked for. A program that prints its own samples could not be
  // told, or chose otherwise: what it printed is what was measured, if there is anything beside
  // warm-ups.
  void require_complete(const std::string& arm, const record::SlotRequest& request,
                        const record::SlotReply& reply) {
    const auto wanted = request.warmup + request.requests;
    const auto found = static_cast<std::int64_t>(reply.samples.size());
    if (found == wanted) {
      return;
    }
    const std::string counts =
        std::to_string(found) + " samples where " + std::to_string(wanted) + " were asked for";
    const bool is_own = record::prints_own_samples(session_.in.manifest.arm(arm).reads);
    if (!is_own || planned_.interleaved || found <= request.warmup) {
      throw base::Error(base::ErrorCode::kBroken, "slot " + request.slot_id,
                        "the worker answered " + counts);
    }
    note_first(kOwnCounts, "arm " + arm + ": ", "its program printed " + counts);
  }

  void take(record::Slot& slot, record::SlotReply reply) {
    check_flush(slot.id, reply.flush);
    keep_answer(slot, std::move(reply));
  }

  // What was to be cold and was not is another condition than the one registered: the block's
  // taint.
  void check_flush(std::int64_t slot, const record::FlushCheck& flush) {
    if (flush.cache.empty()) {
      return;
    }
    const std::int64_t now_ns = session_.with.clock.steady_ns();
    for (const auto& [key, value, unit] : {std::tuple{"cache.flushed", flush.bytes, "bytes"},
                                           std::tuple{"cache.warm_walk", flush.warm_ns, "ns"},
                                           std::tuple{"cache.cold_walk", flush.cold_ns, "ns"}}) {
      environment_.push_back({slot, now_ns, "before", key, value, unit, ""});
    }
    if (flush.cold_ns < record::kColdRatio * flush.warm_ns) {
      taint_.insert("cache-not-cold");
    }
  }

  void worker_failed(const std::string& arm, const std::string& what) {
    if (session_.killed_on_request()) {
      result_.end = BlockEnd::kStopped;
      result_.text = "stopped at once on request: worker " + arm + " " + what;
      return;
    }
    result_.end = BlockEnd::kWorkerFailed;
    result_.text = "worker " + arm + ": " + what;
    notes_.push_back(make_note(kWorkerFailed, block_.workload, result_.text));
  }

  void expose(const host::SlotExposure& exposure) {
    const std::string codes = host::taint(exposure, session_.in.manifest.protocol.load);
    for (const std::string& code : base::split(codes, ',')) {
      if (!code.empty()) {
        taint_.insert(code);
      }
    }
    if (exposure.device.lost) {
      const std::string failed = result_.text.empty() ? "" : "; " + result_.text;
      result_.end = BlockEnd::kStopped;
      result_.text = "device " + session_.in.device.uuid +
                     " is gone: nothing of it can be read any more" + failed;
    }
  }

  void judge(record::Phase phase) {
    block_.taint = base::join({taint_.begin(), taint_.end()}, ",");
    if (result_.end == BlockEnd::kWorkerFailed || result_.end == BlockEnd::kStopped) {
      block_.failed = true;
      block_.failure = result_.text;
      return;
    }
    compare_digests();
    check_requests();
    if (!block_.taint.empty()) {
      result_.end = BlockEnd::kTainted;
      result_.text = block_.taint;
      if (phase == record::Phase::kMeasured) {
        notes_.push_back(make_note(kBlockTainted, block_.workload, block_.taint));
      }
    }
  }

  // Across the arms under a bitwise rule; across the slots of one arm always.
  void compare_digests() {
    for (const auto& slot : block_.slots) {
      if (slot.digest.empty()) {
        continue;
      }
      std::string& known = session_.digests[slot.arm + "/" + block_.workload];
      if (!known.empty() && known != slot.digest) {
        note_once(kDigestUnsteady,
                  "arm " + slot.arm + " gave another result of the same request in this slot");
      }
      known = slot.digest;
    }
    const std::string& a = session_.digests["A/" + block_.workload];
    const std::string& b = session_.digests["B/" + block_.workload];
    if (session_.in.manifest.outputs.rule == record::OutputsRule::kBitwise && !a.empty() &&
        !b.empty() && a != b) {
      note_once(kSlotDigestsDiffer, "the last results of A and B in this block differ");
    }
  }

  void check_requests() {
    for (const auto& slot : block_.slots) {
      if (slot.failures > 0) {
        note_once(kRequestsFailed, "arm " + slot.arm + ": " + std::to_string(slot.failures) +
                                       " requests of a slot failed");
      }
      if (!spans_inside(slot)) {
        note_once(kSpanOutside, "arm " + slot.arm + " reports a span outside of its parent");
      }
    }
  }

  // Each stored span against the spans of its parent's name in the same request.
  static bool spans_inside(const record::Slot& slot) {
    for (const auto& span : slot.spans) {
      if (span.seq < 0 || span.parent.empty()) {
        continue;
      }
      bool parent_seen = false;
      bool inside = false;
      for (const auto& other : slot.spans) {
        if (other.seq == span.seq && other.name == span.parent) {
          parent_seen = true;
          inside =
              inside || (span.start_ns >= other.start_ns &&
                         span.start_ns + span.duration_ns <= other.start_ns + other.duration_ns);
        }
      }
      if (parent_seen && !inside) {
        return false;
      }
    }
    return true;
  }

  // A doubt that recurs in every block is said once a workload and arm.
  void note_once(std::string_view code, const std::string& text) { note_first(code, text, ""); }

  // Once a workload for each `subject`, whatever is said of it later.
  void note_first(std::string_view code, const std::string& subject, const std::string& what) {
    record::Note note = make_note(code, block_.workload, subject + what);
    const auto same = [&](const record::Note& other) {
      return other.code == note.code && other.where == note.where &&
             other.text.compare(0, subject.size(), subject) == 0;
    };
    const auto& known = session_.record.notes;
    if (std::none_of(known.begin(), known.end(), same) &&
        std::none_of(notes_.begin(), notes_.end(), same)) {
      notes_.push_back(std::move(note));
    }
  }

  Session& session_;
  Arms& arms_;
  const record::PlannedBlock& planned_;
  const record::SlotCounts& counts_;
  std::vector<std::string> boundaries_;
  record::Block block_;
  std::set<std::string> taint_;
  std::vector<record::Note> notes_;
  std::vector<record::EnvironmentReading> environment_;
  std::exception_ptr mismatch_;  // a binding that changed while a worker was started for a slot
  BlockResult result_;
};

}  // namespace

BlockResult run_block(Session& session, Arms& arms, std::int64_t pass_id, record::Phase phase,
                      const record::PlannedBlock& planned, const record::SlotCounts& counts) {
  return BlockRun(session, arms, planned, counts).run(pass_id, phase);
}

}  // namespace abba::run
