#include "harness/run/carry_out.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "engine/base/text.h"
#include "harness/host/affinity.h"
#include "harness/manifest/known_events.h"
#include "harness/run/arms.h"
#include "harness/run/bindings.h"
#include "harness/run/capture_pass.h"
#include "harness/run/device_binding.h"
#include "harness/run/feasibility.h"
#include "harness/run/later_passes.h"
#include "harness/run/notes.h"
#include "harness/run/outputs_check.h"
#include "harness/run/pass_runner.h"
#include "harness/run/resume.h"
#include "harness/run/trace_pass.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using record::LedgerEventKind;
using record::Phase;
using record::RunState;

class Run {
 public:
  Run(const RunInputs& in, Collaborators& with) : session_(in, with), arms_(session_) {}

  RunResult carry_out() {
    try {
      phases();
    } catch (const StopRequest& stop) {
      stop_between_steps(stop.text);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMismatch && session_.killed_on_request()) {
        stop_between_steps(std::string("stopped at once on request: ") + error.what());
      } else {
        end_with(error.code() == ErrorCode::kMismatch && measuring_ ? RunState::kStopped
                                                                    : RunState::kBroken,
                 error.code(), error.what());
      }
    } catch (const std::exception& error) {
      end_with(RunState::kBroken, ErrorCode::kBroken, error.what());
    }
    finish();
    result_.record = std::move(session_.record);
    return std::move(result_);
  }

 private:
  void phases() {
    resume();
    preflight();
    const bool bound = !session_.record.counts.empty();  // by an earlier session of this run
    if (!bound) {  // a check that failed or was cut short does not count as done
      progress("outputs");
      as_preflight([&] { check_outputs(session_, arms_); });
    }
    name_event("run-started", ledger(LedgerEventKind::kRunStarted, base::Json::object()));
    const Feasibility feasibility = run_feasibility(session_, arms_);
    if (feasibility.pass.end == PassEnd::kStopped) {
      stopped(feasibility.pass.text);
      return;
    }
    if (!bound) {
      compare_with_earlier();
      name_event("bound", ledger(LedgerEventKind::kBound, bindings()));
    }
    measuring_ = result_.measured = true;
    if (passes(feasibility.counts)) {
      later_passes();
    }
  }

  [[nodiscard]] bool resuming() const { return session_.in.resume_from != nullptr; }

  void resume() {
    if (!resuming()) {
      return;
    }
    const ResumePoint point = resume_point(session_.record);
    done_ = point.done;
    later_done_ = point.later_done;
    result_.measured = !done_.empty();
    // In the ledger already, so that its new end must be there too, wherever this session ends.
    result_.started = !session_.record.passes.empty();
    for (const std::int64_t id : point.supersede) {
      session_.with.sink.supersede_pass(id, "interrupted; measured again after resuming");
      for (auto& pass : session_.record.passes) {
        if (pass.id == id) {
          pass.superseded = true;
          pass.why = "interrupted; measured again after resuming";
        }
      }
    }
    session_.note(kResumed, "",
                  std::to_string(done_.size()) + " complete passes kept, " +
                      std::to_string(point.supersede.size()) +
                      " interrupted passes superseded; new workers for the rest");
    compare_machine();
  }

  // No binding: a run may go on after a restart of its machine, but never silently. Several rows
  // may share a source and a key (each reason why a device cannot be read): they are one answer.
  void compare_machine() {
    using Key = std::pair<std::string, std::string>;
    const auto answers = [](const std::vector<record::Identity>& rows) {
      std::map<Key, std::multiset<std::string>> found;
      for (const auto& row : rows) found[{row.source, row.key}].insert(row.value);
      return found;
    };
    const auto known = answers(session_.record.identity);
    std::vector<std::string> changed;
    for (const auto& [key, values] : answers(session_.in.identity)) {
      const auto before = known.find(key);
      if (before != known.end() && before->second != values) {
        changed.push_back(key.first + " " + key.second);
      }
    }
    if (!changed.empty()) {
      session_.note(kMachineChanged, "",
                    "other than when the run began: " + base::join(changed, ", "));
    }
  }

  // Nothing was timed yet: a worker that breaks here is a preflight that failed.
  template <typename Action>
  void as_preflight(Action action) {
    try {
      action();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kBroken && !session_.sink_failed) {
        throw Error(ErrorCode::kPreflight, error.where(), error.message());
      }
      throw;
    }
  }

  void preflight() {
    progress("preflight");
    store::Facts facts;
    if (resuming()) {
      notes_since();
    } else {
      facts.identity = session_.in.identity;
      facts.identity.push_back(
          {"harness", "placement", host::placement_text(host::read_affinity(0, {}))});
      facts.notes = session_.in.notes;
      facts.private_strings = session_.in.private_strings;
      session_.commit("preflight", facts);
      for (const auto& note : facts.notes) {
        session_.with.observer.note(note);
      }
    }
    for (const auto& digest : session_.in.known_events) {
      name_event("known", digest);
    }
    bind_device(session_);
    const bool reused = session_.in.manifest.protocol.workers == record::WorkerReuse::kReuse;
    record::PlannedPass first = session_.in.plan.passes.front();  // its padding, if no other comes
    first.start_order = "AB";
    const auto first_pass = static_cast<int>(done_.size());
    const bool serves = reused && first_pass < session_.in.manifest.protocol.passes;
    as_preflight([&] { arms_.start(first, serves ? first_pass : -1); });
  }

  // What the checks before this session found that was not said in an earlier one.
  void notes_since() {
    const auto& known = session_.record.notes;
    for (const auto& note : session_.in.notes) {
      const bool said = std::any_of(known.begin(), known.end(), [&](const auto& other) {
        return other.code == note.code && other.where == note.where && other.text == note.text;
      });
      if (!said) {
        store::Facts facts;
        facts.notes.push_back(note);
        session_.commit("note", facts);
        session_.with.observer.note(note);
      }
    }
  }

  [[nodiscard]] base::Json bindings() const {
    base::Json bound = base::Json::object();
    for (const auto& binding : session_.record.bindings) {
      if (binding.name.rfind("ledger/", 0) != 0) {  // the event itself names its parents
        bound.set(binding.name, binding.value);
      }
    }
    return base::Json::object({{"bindings", std::move(bound)}});
  }

  void compare_with_earlier() {
    const auto names = other_than_earlier(session_.in.earlier, session_.record.bindings);
    if (!names.empty()) {
      session_.note(kOtherMachine, "",
                    "other than " + session_.in.earlier.run_file + ": " + base::join(names, ", "));
    }
  }

  void name_event(const std::string& kind, const std::string& digest) {
    const auto& bound = session_.record.bindings;
    const bool is_named = std::any_of(bound.begin(), bound.end(), [&](const auto& binding) {
      return binding.value == digest && binding.name.rfind("ledger/", 0) == 0;
    });
    if (!digest.empty() && !is_named) {
      store::Facts facts;
      facts.bindings.push_back(manifest::event_binding(bound, kind, digest));
      session_.commit("ledger", facts);
    }
  }

  // Whether all were measured that the looks ask for.
  bool passes(const CountsByWorkload& counts) {
    if (resuming() && look_stops()) {  // interrupted between a pass and the look after it
      return true;
    }
    for (const auto& planned : session_.in.plan.passes) {
      if (planned.phase != Phase::kMeasured || done_.count(planned.index) != 0) {
        continue;
      }
      const PassResult pass = run_pass_to_its_end(session_, arms_, planned, counts);
      if (pass.end == PassEnd::kStopped) {
        stopped(pass.text);
        return false;
      }
      done_.insert(planned.index);
      if (look_stops()) {
        return true;
      }
    }
    arms_.require_bindings();
    result_.text = "all " + std::to_string(done_.size()) + " passes measured";
    return true;
  }

  void later_passes() {
    for (const auto& planned : session_.in.plan.passes) {
      if (!record::is_later(planned.phase) || later_done_.count(planned.phase) != 0) {
        continue;
      }
      arms_.stop();  // nothing of the measured passes is alive beside what follows
      const auto work = later_work(planned.phase);
      const PassResult pass = run_later_pass(session_, planned, *work);
      if (pass.end == PassEnd::kStopped) {
        stopped(pass.text);
        return;
      }
    }
  }

  std::unique_ptr<LaterWork> later_work(Phase phase) {
    if (phase == Phase::kTrace) {
      return std::make_unique<TraceWork>(session_.in.tracer);
    }
    ABBA_CHECK(phase == Phase::kGraphCapture);
    return std::make_unique<CaptureWork>();
  }

  bool look_stops() {
    const auto& looks = session_.in.plan.looks;
    const auto passes = static_cast<int>(done_.size());
    const bool is_early_look =
        std::find(looks.begin(), looks.end(), passes) != looks.end() && passes != looks.back();
    if (!is_early_look || !session_.with.look) {
      return false;
    }
    const LookAnswer answer = session_.with.look(session_.record);
    if (answer.stop) {
      arms_.require_bindings();
      session_.note(kStoppedAtLook, "after " + std::to_string(passes) + " passes", answer.why);
      result_.text = "stopped at the look after " + std::to_string(passes) +
                     " passes by the registered rule: " + answer.why;
    }
    return answer.stop;
  }

  // The note may meet a full disk: then that is how the run ends.
  void stop_between_steps(const std::string& why) {
    try {
      stopped(why);
    } catch (const Error& error) {
      end_with(RunState::kBroken, error.code(), error.what());
    }
  }

  void stopped(const std::string& why) {
    session_.note(kStopped, "", why);
    end_with(RunState::kStopped, ErrorCode::kBroken, why);
  }

  void end_with(RunState state, ErrorCode code, const std::string& text) {
    result_.state = state;
    result_.error = code;
    result_.text = text;
  }

  void finish() {
    try {
      if (result_.error == ErrorCode::kMismatch && measuring_) {
        session_.note(kBindingChanged, "", result_.text);
      }
      arms_.stop();
      // As the file will say: whoever recomputes the analysis from it must get the same.
      session_.record.state = result_.state;
      session_.record.state_text = result_.text;
      if (session_.with.analyze && result_.measured) {
        session_.with.sink.commit_analysis(session_.with.analyze(session_.record));
      }
      const std::string utc = base::utc_text(session_.with.clock.utc_seconds());
      result_.head_digest = session_.with.sink.finish(result_.state, result_.text, utc);
      session_.record.finished_utc = utc;
      session_.record.head_digest = result_.head_digest;
      if (result_.started) {
        ledger(LedgerEventKind::kRunFinished,
               base::Json::object({{"state", result_.state == RunState::kFinished  ? "finished"
                                             : result_.state == RunState::kStopped ? "stopped"
                                                                                   : "broken"},
                                   {"head_digest", result_.head_digest}}));
      }
    } catch (const Error& error) {        // a full disk: the file keeps what was committed before
      if (result_.head_digest.empty()) {  // and says that the run is under way
        session_.record.state = RunState::kRunning;
        session_.record.state_text.clear();
      }
      if (!result_.error) {
        end_with(RunState::kBroken, ErrorCode::kBroken, error.what());
      }
    }
    progress("finished");
  }

  // The event's digest, or nothing if no ledger is kept.
  std::string ledger(LedgerEventKind kind, base::Json details) {
    result_.started = result_.started || kind == LedgerEventKind::kRunStarted;
    if (!session_.with.ledger) {
      return {};
    }
    details.set("run_file", session_.in.run_file);
    if (resuming()) {
      details.set("resumed", true);
    }
    return session_.with.ledger(kind, details);
  }

  void progress(const std::string& phase) {
    Progress now;
    now.phase = phase;
    now.elapsed_s = session_.elapsed_s();
    session_.with.observer.progress(now);
  }

  Session session_;
  Arms arms_;
  std::set<int> done_;          // measured passes
  std::set<Phase> later_done_;  // passes after them
  bool measuring_ = false;
  RunResult result_;
};

}  // namespace

RunResult carry_out(const RunInputs& in, Collaborators& with) {
  return Run(in, with).carry_out();
}

}  // namespace abba::run
