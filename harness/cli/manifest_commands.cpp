// Commands that read a manifest and start nothing that is timed.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/noise_budget.h"
#include "harness/cli/registration.h"
#include "harness/cli/reporting.h"
#include "harness/evidence/anchor.h"
#include "harness/host/affinity.h"
#include "harness/host/clock.h"
#include "harness/manifest/attempts.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/diff.h"
#include "harness/manifest/known_events.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/parse.h"
#include "harness/manifest/registrations.h"
#include "harness/plan/make_plan.h"
#include "harness/record/names.h"
#include "harness/run/preflight.h"
#include "harness/store/record_json.h"
#include "harness/store/run_file.h"
#include "harness/workers/worker.h"

namespace abba::cli {
namespace {

using base::Error;
using base::ErrorCode;

struct Hellos {
  std::optional<record::WorkerHello> a;
  std::optional<record::WorkerHello> b;
  std::vector<std::string> not_asked;  // why a worker could not be asked
};

std::optional<record::WorkerHello> ask(const Loaded& loaded, const std::string& arm,
                                       std::vector<std::string>& not_asked) {
  if (!loaded.manifest.arm(arm).rev.empty()) {
    not_asked.push_back("arm " + arm + " is a revision that is built at its registration or run");
    return std::nullopt;
  }
  try {
    const auto command = run::arm_command(loaded.manifest, arm, loaded.project, command_sources());
    if (command.reads != record::Reads::kProtocol) {
      not_asked.push_back("arm " + arm + " is a program that declares nothing");
      return std::nullopt;
    }
    workers::WorkerSpec spec;
    spec.name = arm;
    spec.argv = command.argv;
    const auto worker = workers::spawn(spec);
    auto hello = worker->hello();
    worker->shutdown();
    return hello;
  } catch (const Error& error) {
    not_asked.push_back("arm " + arm + ": " + error.what());
    return std::nullopt;
  }
}

Hellos ask_workers(const Loaded& loaded) {
  Hellos hellos;
  hellos.a = ask(loaded, "A", hellos.not_asked);
  hellos.b = ask(loaded, "B", hellos.not_asked);
  return hellos;
}

const record::WorkerHello* pointer(const std::optional<record::WorkerHello>& hello) {
  return hello ? &*hello : nullptr;
}

std::vector<manifest::Mistake> mistakes_against(const record::Manifest& manifest,
                                                const Hellos& hellos) {
  std::vector<manifest::Mistake> mistakes;
  if (hellos.a) {
    mistakes = manifest::check_against_hello(manifest, "A", *hellos.a);
  }
  if (hellos.b) {
    for (auto& mistake : manifest::check_against_hello(manifest, "B", *hellos.b)) {
      const bool known = std::any_of(mistakes.begin(), mistakes.end(), [&](const auto& other) {
        return manifest::text(other) == manifest::text(mistake);
      });
      if (!known) {
        mistakes.push_back(std::move(mistake));
      }
    }
  }
  return mistakes;
}

std::string attempts_text(const manifest::AttemptCounts& counts) {
  std::string text = "tries: " + std::to_string(counts.exploratory) + " exploratory, " +
                     std::to_string(counts.tried) + " tried, " + std::to_string(counts.failed) +
                     " failed, " + std::to_string(counts.aborted) +
                     " aborted (a lower bound: those of this machine)";
  if (counts.unreadable > 0) {
    text += ", " + std::to_string(counts.unreadable) + " lines unreadable";
  }
  return text + "\n";
}

}  // namespace

int check_command(const Options& options) {
  const manifest::ParseResult result = manifest::parse_file(options.manifest);
  if (!result.ok()) {
    throw manifest::MistakesError(options.manifest, result.mistakes);
  }
  const Loaded loaded{*result.manifest, manifest::find_project(options.manifest)};
  if (options.expand) {
    print(manifest::expand(loaded.manifest).dump_pretty());
    return kDone;
  }
  const Hellos hellos = ask_workers(loaded);
  const auto mistakes = mistakes_against(loaded.manifest, hellos);
  if (!mistakes.empty()) {
    throw manifest::MistakesError(options.manifest, mistakes);
  }
  print_line(options.manifest + ": no mistakes; digest " + manifest::digest(loaded.manifest));
  for (const auto& note : result.notes) {
    print_line("note: " + note);
  }
  for (const auto& warning :
       plan_warnings(loaded.manifest,
                     noise_budget(loaded.project, machine_class_here(loaded.manifest.device)))) {
    print_line("note: " + warning);
  }
  for (const auto& why : hellos.not_asked) {
    print_line("not checked: factors and boundaries, " + why);
  }
  return kDone;
}

int diff_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const Hellos hellos = ask_workers(loaded);
  print(manifest::table(manifest::diff(loaded.manifest, pointer(hellos.a), pointer(hellos.b))));
  for (const auto& why : hellos.not_asked) {
    print_line("not known: defaults of the worker, " + why);
  }
  return kDone;
}

namespace {

// The registration stands already: an anchor that could not be made is asked for again.
void anchor(const Loaded& loaded, const record::Registration& lock,
            const evidence::AnchorRequest& request) {
  host::SystemClock clock;
  const std::int64_t now = clock.utc_seconds();
  const base::Json details =
      evidence::make_anchor(request, lock, loaded.manifest.id, loaded.project, now);
  const auto event = manifest::append_event(manifest::ledger_folder(loaded.project),
                                            record::LedgerEventKind::kAnchored, lock.lock_digest,
                                            details, clock.utc_seconds());
  print("anchored: " + details.get_string("method", "") + " " + details.get_string("utc", "") +
        " " + event.file + "\n");
}

}  // namespace

int register_command(const Options& options) {
  const evidence::AnchorRequest request{options.anchor, options.authority, options.ca,
                                        options.remote};
  if (!options.anchor.empty()) {
    evidence::require_sound(request);  // before anything is written
  }
  const Loaded loaded = load_manifest(options.manifest, options.rehash);
  const auto registered = register_now(loaded, options.supersede);
  const auto& lock = registered.registration;
  print((registered.existed ? "registered before: " : "registered: ") +
        record::short_digest(lock.lock_digest) + " " + registered.lock_file + "\n");
  for (const auto& note : registered.notes) {
    print_line("note: " + note);
  }
  if (!options.anchor.empty()) {
    anchor(loaded, lock, request);
  }
  return kDone;
}

int preflight_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest, options.rehash);
  const record::Registration lock = registration_of(loaded);
  const record::Plan plan = registered_plan(loaded, lock);
  const auto probe = host::open_device_probe();
  const run::PreflightInputs in{loaded.manifest,
                                lock,
                                plan,
                                loaded.project,
                                loaded.project.root / "results" / loaded.manifest.id,
                                own_program().string(),
                                host::allowed_cpus(),
                                true,
                                options.require == "cuda"};
  const run::Preflight found = run::preflight(in, *probe);
  for (const auto& row : found.rows) {
    print_line((row.passed ? "  ok    " : "  FAIL  ") + row.name + ": " + row.text);
  }
  for (const auto& note : found.notes) {
    print_line("  note  " + note.code + " " + note.text);
  }
  found.require();
  return kDone;
}

int build_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  for (const std::string arm : {"A", "B"}) {
    const auto command = run::arm_command(loaded.manifest, arm, loaded.project, command_sources());
    print_line(arm + ": " + base::join(command.argv, " ") +
               (command.tree.empty() ? " (nothing to build)" : " (tree " + command.tree + ")"));
  }
  return kDone;
}

namespace {

// What other events or run files name and the ledger lacks.
std::vector<manifest::MissingEvent> all_missing(const manifest::LedgerReading& ledger,
                                                const manifest::Project& project) {
  std::vector<manifest::MissingEvent> missing = ledger.missing;
  store::ReadOptions quick;
  quick.samples = quick.environment = quick.check = false;
  for (const auto& file : run_files(project, "", false)) {
    try {
      const auto run = store::read_run(file.string(), quick);
      for (const auto& event : manifest::missing_events(ledger, run.bindings)) {
        missing.push_back({event.value, manifest::event_kind(event)});
      }
    } catch (const Error& error) {
      complain(shown_path(file, project) + " is passed over: " + error.message());
    }
  }
  return missing;
}

void acknowledge_loss(const Options& options, const manifest::Project& project) {
  const auto folder = manifest::ledger_folder(project);
  host::SystemClock clock;
  const auto event = manifest::acknowledge_loss(folder, options.lost_event,
                                                all_missing(manifest::read_ledger(folder), project),
                                                options.reason, clock.utc_seconds());
  print("acknowledged: " + event.file + "\n");
}

}  // namespace

int ledger_command(const Options& options) {
  const bool is_of_one = !options.manifest.empty();
  const auto project = manifest::find_project(is_of_one ? std::filesystem::path(options.manifest)
                                                        : std::filesystem::current_path());
  if (!options.lost_event.empty()) {
    acknowledge_loss(options, project);
    return kDone;
  }
  const auto folder = manifest::ledger_folder(project);
  auto reading = manifest::read_ledger(folder);
  auto entered = manifest::registrations(reading);
  if (is_of_one) {
    const Loaded loaded = load_manifest(options.manifest);
    entered = manifest::registrations_of(reading, loaded.manifest, project);
    reading = manifest::only_about(reading, entered);
    const auto attempts =
        manifest::count_attempts(manifest::attempts_file(project), loaded.manifest.id);
    print(attempts_text(attempts));
  }
  for (const auto& registration : entered) {
    print_line(manifest::text(registration));
  }
  print(reading.events.empty() ? "no events\n" : manifest::graph(reading));
  if (!reading.problems.empty()) {
    throw Error(ErrorCode::kEvidence, folder.string(),
                base::join(reading.problems, "; ") + "; restore the files as they were committed");
  }
  return kDone;
}

int withdraw_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const record::Registration lock = registration_of(loaded);
  host::SystemClock clock;
  const auto event = manifest::withdraw(manifest::ledger_folder(loaded.project), lock.lock_digest,
                                        options.reason, clock.utc_seconds());
  print("withdrawn: " + record::short_digest(lock.lock_digest) + " " + event.file + "\n");
  return kDone;
}

}  // namespace abba::cli
