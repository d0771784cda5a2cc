#include "harness/run/later_passes.h"

#include <optional>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/run/live_worker.h"
#include "harness/run/notes.h"
#include "harness/run/stored_pass.h"

namespace abba::run {
namespace {

using base::Error;

class LaterRun {
 public:
  LaterRun(Session& session, const record::PlannedPass& planned, LaterWork& work)
      : session_(session), planned_(planned), work_(work), pass_(session, planned) {}

  PassResult run() {
    for (std::size_t i = 0; i < planned_.start_order.size(); ++i) {
      const std::string stopped = one_arm(i, planned_.start_order.substr(i, 1));
      if (!stopped.empty()) {
        pass_.supersede(stopped);
        return {PassEnd::kStopped, stopped};
      }
    }
    pass_.end();
    return {};
  }

 private:
  // Why the pass was stopped in this arm, or nothing.
  std::string one_arm(std::size_t index, const std::string& arm) {
    const auto hello = session_.record.hello.find(arm);
    const std::string lack = hello == session_.record.hello.end() ? "" : work_.lack(hello->second);
    if (!lack.empty()) {
      session_.note(kLaterPassUnable, where(arm), "worker " + arm + " " + lack);
      return "";
    }
    std::string problem;
    std::string stopped = guarded(problem, [&] { in_fresh_worker(index, arm); });
    end(problem, arm);
    if (!problem.empty()) {
      session_.note(kLaterPassFailed, where(arm), problem);
    }
    return stopped;
  }

  // Does the step. A refusal of the world ends in `problem`, a stop in what is returned; only an
  // error of the sink goes on.
  template <typename Step>
  std::string guarded(std::string& problem, const Step& step) {
    try {
      step();
    } catch (const StopRequest& stop) {
      return stop.text;
    } catch (const Error& error) {
      if (session_.sink_failed) {
        throw;
      }
      if (session_.killed_on_request()) {
        return std::string("stopped at once on request: ") + error.what();
      }
      problem += (problem.empty() ? "" : "; then: ") + std::string(error.what());
    }
    return "";
  }

  void in_fresh_worker(std::size_t index, const std::string& arm) {
    const std::string limit = session_.time_limit_reached();
    if (!limit.empty()) {
      throw StopRequest{limit};
    }
    session_.require_going("worker " + arm + " was started for the " + place_of(planned_));
    progress(index, 0);
    const WorkerStart start{arm, "", planned_, record::kLaterPass, work_.environment(arm)};
    live_ = spawn_worker(session_, start, digests_);
    session_.with.environment.set_workers({live_->worker->pid()});
    session_.commit("worker", make_ready(session_, start, *live_));
    store::Facts bound;  // everything is bound by now: nothing is added
    require_files(session_, bound);
    require_bound(session_, arm, *live_->worker, digests_, false, bound);
    for (std::size_t i = 0; i < planned_.blocks.size(); ++i) {
      session_.require_going("arm " + arm + " went on with " + planned_.blocks[i].workload);
      progress(index, i + 1);
      work_.run(session_, {arm, pass_, live_->process.id, *live_->worker}, planned_.blocks[i]);
    }
  }

  // Ends the worker, if there is one, and stores how it ended: also of one that never got ready.
  void end(std::string& problem, const std::string& arm) {
    if (!live_) {
      return;
    }
    store::Facts facts;
    facts.workers.push_back(end_worker(*live_));
    const std::int64_t id = live_->process.id;
    live_.reset();
    session_.with.environment.set_workers({});
    session_.commit("worker-end", facts);
    guarded(problem, [&] { work_.ended(session_, arm, id); });
  }

  [[nodiscard]] std::string where(const std::string& arm) const {
    return place_of(planned_) + ", arm " + arm;
  }

  void progress(std::size_t arm, std::size_t block) {
    Progress now;
    now.phase = record::name(planned_.phase);
    now.pass = planned_.index + 1;
    now.passes = 1;
    now.block = block == 0 ? 0 : static_cast<int>(arm * planned_.blocks.size() + block);
    now.blocks = static_cast<int>(planned_.start_order.size() * planned_.blocks.size());
    now.workload = block == 0 ? "" : planned_.blocks[block - 1].workload;
    now.elapsed_s = session_.elapsed_s();
    session_.with.observer.progress(now);
  }

  Session& session_;
  const record::PlannedPass& planned_;
  LaterWork& work_;
  StoredPass pass_;
  workers::FileDigests digests_;  // outlives the worker
  std::optional<LiveWorker> live_;
};

}  // namespace

PassResult run_later_pass(Session& session, const record::PlannedPass& planned, LaterWork& work) {
  return LaterRun(session, planned, work).run();
}

}  // namespace abba::run
