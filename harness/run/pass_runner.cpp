#include "harness/run/pass_runner.h"

#include <algorithm>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/run/block_runner.h"
#include "harness/run/notes.h"
#include "harness/run/stored_pass.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using record::Phase;

int measured_passes(const record::Plan& plan) {
  return static_cast<int>(std::count_if(plan.passes.begin(), plan.passes.end(),
                                        [](const auto& p) { return p.phase == Phase::kMeasured; }));
}

// What is left if every block takes as long as the last one of its workload; -1 before any is
// known.
double rest_s(const Session& session, const record::PlannedPass& now, std::size_t block) {
  double seconds = 0;
  bool found = false;
  for (const auto& pass : session.in.plan.passes) {
    const bool is_now = pass.phase == now.phase && pass.index == now.index;
    found = found || is_now;
    if (!found) {
      continue;
    }
    seconds += !is_now && pass.fresh_workers ? session.start_s : 0;
    if (record::is_later(pass.phase)) {
      continue;  // about as long as its starts
    }
    for (std::size_t i = is_now ? block : 0; i < pass.blocks.size(); ++i) {
      const auto known = session.block_s.find(pass.blocks[i].workload);
      if (known == session.block_s.end()) {
        return -1;
      }
      seconds += known->second;
    }
  }
  return seconds;
}

class PassRun {
 public:
  PassRun(Session& session, Arms& arms, const record::PlannedPass& planned,
          const CountsByWorkload& counts)
      : session_(session),
        arms_(arms),
        planned_(planned),
        counts_(counts),
        pass_(session, planned) {}

  PassResult run() {
    PassResult result;
    try {
      result = blocks();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kMismatch) {
        pass_.supersede(error.what());
      }
      throw;
    }
    if (result.end == PassEnd::kDone) {
      pass_.end();
    } else {
      pass_.supersede(result.text);
    }
    return result;
  }

 private:
  // A worker that dies while it starts fails the pass; a changed binding ends the run.
  PassResult workers_ready() {
    try {
      if (planned_.fresh_workers || !arms_.started()) {
        progress(0);
        arms_.start(planned_, planned_.phase == Phase::kMeasured ? planned_.index : -1);
      } else {
        arms_.require_bindings();
      }
    } catch (const StopRequest& stop) {
      return {PassEnd::kStopped, stop.text};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kMismatch || session_.sink_failed) {
        throw;
      }
      if (session_.killed_on_request()) {
        return {PassEnd::kStopped, std::string("stopped at once on request: ") + error.what()};
      }
      return {PassEnd::kWorkerFailed, error.what()};
    }
    return {};
  }

  PassResult blocks() {
    PassResult ready = workers_ready();
    for (std::size_t i = 0; ready.end == PassEnd::kDone && i < planned_.blocks.size(); ++i) {
      const std::string limit = session_.limit_reached();
      if (!limit.empty()) {
        return {PassEnd::kStopped, limit};
      }
      progress(i + 1);
      ready = one_block(planned_.blocks[i]);
    }
    return ready;
  }

  PassResult one_block(const record::PlannedBlock& planned) {
    PassResult result = one_try(planned);
    const auto rule = session_.in.manifest.protocol.on_taint;
    if (result.end != PassEnd::kDone || taint_.empty() || planned_.phase != Phase::kMeasured) {
      return result;
    }
    if (rule == record::OnTaint::kAbort) {
      return {PassEnd::kStopped, "stopped by on_taint: abort (" + taint_ + ")"};
    }
    if (rule == record::OnTaint::kRepeatOnce) {
      session_.note(kBlockRepeated, place_of(planned_) + ", " + planned.workload,
                    "measured again once after " + taint_);
      result = one_try(planned);
    }
    return result;
  }

  PassResult one_try(const record::PlannedBlock& planned) {
    const std::int64_t begin_ns = session_.with.clock.steady_ns();
    BlockResult block = run_block(session_, arms_, pass_.id(), planned_.phase, planned,
                                  counts_.at(planned.workload));
    block.block.pass = planned_.index;
    pass_.stored().blocks.push_back(std::move(block.block));
    taint_ = block.end == BlockEnd::kTainted ? block.text : "";
    if (block.end == BlockEnd::kWorkerFailed) {
      return {PassEnd::kWorkerFailed, block.text};
    }
    if (block.end == BlockEnd::kStopped) {
      return {PassEnd::kStopped, block.text};
    }
    session_.block_s[planned.workload] =
        static_cast<double>(session_.with.clock.steady_ns() - begin_ns) * 1e-9;
    return {};
  }

  void progress(std::size_t block) {
    Progress now;
    now.phase = record::name(planned_.phase);
    now.pass = planned_.index + 1;
    now.passes = planned_.phase == Phase::kMeasured ? measured_passes(session_.in.plan) : 1;
    now.block = static_cast<int>(block);
    now.blocks = static_cast<int>(planned_.blocks.size());
    now.workload = block == 0 ? "" : planned_.blocks[block - 1].workload;
    now.elapsed_s = session_.elapsed_s();
    now.rest_s = rest_s(session_, planned_, block == 0 ? 0 : block - 1);
    session_.with.observer.progress(now);
  }

  Session& session_;
  Arms& arms_;
  const record::PlannedPass& planned_;
  const CountsByWorkload& counts_;
  StoredPass pass_;
  std::string taint_;  // of the last block
};

}  // namespace

PassResult run_pass(Session& session, Arms& arms, const record::PlannedPass& planned,
                    const CountsByWorkload& counts) {
  return PassRun(session, arms, planned, counts).run();
}

PassResult run_pass_to_its_end(Session& session, Arms& arms, const record::PlannedPass& planned,
                               const CountsByWorkload& counts) {
  PassResult result = run_pass(session, arms, planned, counts);
  if (result.end != PassEnd::kWorkerFailed) {
    return result;
  }
  arms.stop();
  result = run_pass(session, arms, planned, counts);
  if (result.end == PassEnd::kWorkerFailed) {
    throw Error(ErrorCode::kBroken, "",
                "a worker failed twice in the same pass, the run is broken (" + result.text +
                    "); everything measured is kept. Mend the worker, then " +
                    (session.in.manifest.path.empty() ? "try again" : "go on with --resume"));
  }
  return result;
}

}  // namespace abba::run
