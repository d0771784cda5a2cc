#include "harness/cli/execute.h"

#include <unistd.h>

#include <map>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/interrupted.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/registration.h"
#include "harness/cli/reporting.h"
#include "harness/cli/signals.h"
#include "harness/cli/version.h"
#include "harness/host/affinity.h"
#include "harness/host/clock.h"
#include "harness/host/device_lock.h"
#include "harness/host/device_probe.h"
#include "harness/host/identity.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/ledger.h"
#include "harness/run/carry_out.h"
#include "harness/run/notes.h"
#include "harness/run/preflight.h"
#include "harness/stats/analyze.h"
#include "harness/store/run_file.h"

namespace abba::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

class Executor {
 public:
  explicit Executor(const Execution& execution)
      : with_(execution), manifest_(execution.loaded.manifest) {}

  int execute() {
    plan_ = registered_plan(with_.loaded, with_.lock);
    if (with_.resume) {
      interrupted_ = find_interrupted(with_);
      file_ = interrupted_.file;
      run_id_ = interrupted_.run_id;
    } else {
      choose_file();
    }
    const StopSignals signals;  // from here on Ctrl-C is a question
    try {
      prepare_or_stop();
      carry_out();
    } catch (const Error& error) {
      attempt(StopSignals::requested() ? manifest::AttemptKind::kAborted
                                       : manifest::AttemptKind::kFailed,
              error.what());
      throw;
    }
    return conclude();
  }

 private:
  [[nodiscard]] bool exploratory() const { return with_.lock.exploratory(); }

  [[nodiscard]] fs::path folder() const {
    const fs::path& root = with_.loaded.project.root;
    return (exploratory() ? root / ".abba" / "exploratory" : root / "results") / manifest_.id;
  }

  void choose_file() {
    const std::string digest = exploratory() ? manifest::digest(manifest_) : with_.lock.lock_digest;
    run_id_ = new_run_id(clock_.utc_seconds(), digest);
    // Absolute, so that a bare name has a folder too.
    file_ = with_.output.empty() ? folder() / (run_id_ + ".sqlite") : fs::absolute(with_.output);
    std::error_code ignored;
    if (with_.output.empty() && fs::exists(file_, ignored)) {  // twice within one second
      clock_.sleep_ns(1'100'000'000);
      run_id_ = new_run_id(clock_.utc_seconds(), digest);
      file_ = folder() / (run_id_ + ".sqlite");
    }
    refuse_to_overwrite(file_, "--output");
  }

  // A command that was ended by the same Ctrl-C failed for no reason of its own.
  void prepare_or_stop() {
    try {
      prepare();
    } catch (const Error&) {
      require_going();
      throw;
    }
    require_going();
  }

  void prepare() {
    in_.manifest = manifest_;
    if (!manifest_.path.empty()) {  // a run file is published: no path of this machine in it
      in_.manifest.path = fs::absolute(manifest_.path)
                              .lexically_normal()
                              .lexically_relative(with_.loaded.project.root)
                              .string();
    }
    in_.plan = plan_;
    run::CommandSources sources = command_sources();
    sources.stop = StopSignals::requested;
    in_.commands = run::arm_commands(manifest_, with_.loaded.project, sources);
    probe_ = host::open_device_probe();
    run::PreflightInputs inputs{manifest_,
                                with_.lock,
                                plan_,
                                with_.loaded.project,
                                file_.parent_path(),
                                own_program().string(),
                                host::allowed_cpus(),
                                !with_.resume,
                                with_.require_device};
    inputs.stop = StopSignals::requested;
    const run::Preflight found = run::preflight(inputs, *probe_);
    found.require();
    in_.files = found.files;
    if (!exploratory()) {
      in_.known_events = found.ledger.heads;
      in_.earlier = run::earlier_bindings(found.ledger, with_.lock.lock_digest);
    }
    in_.cpus = found.cpus;
    in_.notes = found.notes;
    reserve(found.device);
    in_.require_device = with_.require_device;
    in_.identity = host::host_identity();
    for (auto& identity : host::device_identity(*probe_)) {
      in_.identity.push_back(std::move(identity));
    }
    for (auto& identity : host::choice_identity(in_.device)) {
      in_.identity.push_back(std::move(identity));
    }
    in_.identity.push_back({"harness", "worker cpus", host::cpu_list_text(in_.cpus.worker)});
    in_.identity.insert(in_.identity.end(), found.reference.begin(), found.reference.end());
    in_.private_strings["host"] = host::host_name();
    if (manifest_.traces.is_object()) {
      in_.tracer = tracer_here();
    }
    in_.exploratory = exploratory();
    in_.run_file = fs::relative(fs::absolute(file_), with_.loaded.project.root).string();
    in_.fixed_hashes = fixed_bindings(with_.loaded, with_.lock);
    if (with_.registered_just_now) {
      in_.notes.push_back(
          run::make_note(run::kRegisteredJustNow, "",
                         "registered by the command that ran it, at " + with_.lock.registered_utc));
    }
    in_.resume_from = with_.resume ? &interrupted_ : nullptr;
  }

  // Held until the run is over: two harnesses never measure on one device. What was found before is
  // asked again inside the reservation, when nobody else can be starting there.
  void reserve(const host::DeviceChoice& device) {
    if (!device.chosen()) {
      return;
    }
    device_lock_ = std::make_unique<host::DeviceLock>(host::device_lock_folder(), device.uuid,
                                                      base::utc_text(clock_.utc_seconds()));
    if (!device_lock_->stale().empty()) {
      in_.notes.push_back(
          run::make_note(run::kStaleReservation, device.uuid, "left by " + device_lock_->stale()));
    }
    probe_ = host::open_device_probe();
    record::DeviceWish same = manifest_.device;
    same.wanted = device.uuid;
    in_.device = host::choose_device(same, *probe_, clock_, nullptr);
  }

  static void require_going() {
    if (StopSignals::requested()) {
      throw Error(
          ErrorCode::kBroken, "",
          "stopped on request in the preflight; nothing was measured and no run file begun");
    }
  }

  store::RunFile open_file() {
    if (with_.resume) {
      return store::RunFile::open_for_resume(file_.string());
    }
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    if (error) {
      throw Error(ErrorCode::kBroken, file_.parent_path().string(),
                  "cannot be created: " + error.message() +
                      (manifest_.path.empty()  // `try` and `calibrate` name the file themselves
                           ? "; check its permissions"
                           : "; write elsewhere with --output"));
    }
    record::RunRecord start;
    start.run_id = run_id_;
    start.started_utc = base::utc_text(clock_.utc_seconds());
    start.exploratory = exploratory();
    start.analysis_version = stats::kAnalysisVersion;
    start.program_version = version_text();
    start.manifest = in_.manifest;
    start.registration = with_.lock;
    start.plan = plan_;
    store::RunTexts texts;
    texts.manifest_text = with_.manifest_text;
    if (!exploratory()) {
      texts.lock = base::parse_json_file(manifest::lock_path(manifest_.path).string());
    }
    return store::RunFile::create(file_.string(), start, texts);
  }

  // Large files are read again only if their stat changed since the preflight.
  std::map<std::string, std::string> file_digests() {
    std::map<std::string, std::string> digests;
    for (const auto& file : in_.files) {
      digests["file/" + file.name] = hashes_->digest(file.path);
    }
    for (const auto& workload : manifest_.workloads) {
      if (workload.input.find("file") != nullptr) {
        digests["input/" + workload.id] =
            manifest::input_digest(workload, with_.loaded.project, *hashes_);
      }
    }
    return digests;
  }

  void carry_out() {
    hashes_.emplace(manifest::open_hash_cache(with_.loaded.project));
    host::set_affinity(0, in_.cpus.harness);  // refused before there is a file
    store::RunFile sink = open_file();
    host::EnvironmentWatch::Options watch;
    watch.experiment_cpus = in_.cpus.worker;
    watch.harness_cpus = in_.cpus.harness;
    if (in_.device.chosen()) {
      watch.device = probe_.get();
      watch.device_uuid = in_.device.uuid;
    }
    const auto environment = run::watch_environment(watch, clock_);
    ProgressLine progress(isatty(STDERR_FILENO) != 0, with_.quiet);
    run::Collaborators with{clock_,
                            workers::spawn,
                            sink,
                            *environment,
                            progress,
                            StopSignals::requested,
                            [](const record::RunRecord& record) {
                              const auto decision = stats::decide_at_look(record);
                              return run::LookAnswer{decision.stop, decision.why};
                            },
                            [](const record::RunRecord& record) { return stats::analyze(record); },
                            {},
                            [this] { return file_digests(); },
                            StopSignals::kill_requested};
    if (!exploratory()) {
      with.ledger = [this](record::LedgerEventKind kind, const base::Json& details) {
        return manifest::append_event(manifest::ledger_folder(with_.loaded.project), kind,
                                      with_.lock.lock_digest, details, clock_.utc_seconds())
            .digest;
      };
    }
    result_ = run::carry_out(in_, with);
  }

  int conclude() {
    note_attempt();
    const bool is_stopped = result_.state == record::RunState::kStopped;
    const bool nothing_timed =
        result_.error && !result_.measured && !with_.resume &&
        (*result_.error != ErrorCode::kBroken || (is_stopped && !result_.started));
    if (result_.measured && with_.with_report) {
      report_or_say();
    }
    if (!result_.error) {
      return kDone;
    }
    complain(result_.text);
    if (nothing_timed && with_.output.empty()) {
      set_aside();
    } else if (is_stopped) {
      complain("everything measured is kept in " + file_.string() +
               (manifest_.path.empty() ? "" : "; go on with --resume"));
    }
    return exit_code(*result_.error);
  }

  void note_attempt() {
    if (result_.error) {
      attempt(result_.state == record::RunState::kStopped ? manifest::AttemptKind::kAborted
                                                          : manifest::AttemptKind::kFailed,
              result_.text);
    } else if (exploratory()) {
      attempt(with_.kind, in_.run_file);
    }
  }

  void attempt(manifest::AttemptKind kind, const std::string& text) {
    manifest::Attempt line;
    line.kind = kind;
    line.utc = base::utc_text(clock_.utc_seconds());
    line.manifest_id = manifest_.id;
    line.manifest_digest = manifest::digest(manifest_);
    line.text = text;
    try {
      manifest::append_attempt(manifest::attempts_file(with_.loaded.project), line);
    } catch (const Error& error) {  // must not hide what happened to the run itself
      complain(error.what());
    }
  }

  // Nothing was timed: what the checks found is kept, away from the results.
  void set_aside() {
    const fs::path aside = with_.loaded.project.root / ".abba" / "failed" / manifest_.id;
    std::error_code error;
    fs::create_directories(aside, error);
    fs::rename(file_, aside / file_.filename(), error);
    if (!error) {
      file_ = aside / file_.filename();
      std::error_code ignored;
      fs::remove(folder(), ignored);  // only if empty
    }
    complain("what the checks found is kept in " + shown_path(file_, with_.loaded.project));
  }

  // A report that cannot be written must not hide how the run itself ended.
  void report_or_say() {
    try {
      report();
    } catch (const Error& error) {
      if (!result_.error) {
        throw Error(
            error.code(), error.where(),
            error.message() + "; the run itself is whole, print its report with `abba report`");
      }
      complain(error.what());
    }
  }

  void report() {
    const WrittenReport written = write_report(file_, with_.loaded.project, exploratory());
    if (!with_.quiet) {
      print(written.summary + "\nrun file: " + file_.string() +
            "\nreport:   " + written.markdown.string() + "\n");
    }
  }

  const Execution& with_;
  const record::Manifest& manifest_;
  host::SystemClock clock_;
  record::Plan plan_;
  fs::path file_;
  std::string run_id_;
  record::RunRecord interrupted_;
  std::unique_ptr<host::DeviceProbe> probe_;
  std::unique_ptr<host::DeviceLock> device_lock_;
  run::RunInputs in_;
  run::RunResult result_;
  std::optional<manifest::HashCache> hashes_;  // as the preflight left it
};

}  // namespace

int execute(const Execution& execution) {
  return Executor(execution).execute();
}

}  // namespace abba::cli
