// Commands that read a manifest and start nothing that is timed.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/registration.h"
#include "harness/host/affinity.h"
#include "harness/host/clock.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/diff.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/parse.h"
#include "harness/plan/cost.h"
#include "harness/plan/make_plan.h"
#include "harness/record/names.h"
#include "harness/run/preflight.h"
#include "harness/store/record_json.h"
#include "harness/workers/worker.h"

namespace abba::cli {
namespace {

using base::Error;
using base::ErrorCode;

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

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

std::string minutes_text(const record::PlanCost& cost) {
  return number("%.1f", cost.start_minutes + cost.measuring_minutes) + " minutes (" +
         number("%.1f", cost.start_minutes) + " starts, " + number("%.1f", cost.measuring_minutes) +
         " measuring), " + number("%.1f", cost.megabytes) + " MB, " +
         std::to_string(cost.requests) + " requests";
}

}  // namespace

int check_command(const Options& options) {
  const manifest::ParseResult result = manifest::parse_file(options.manifest);
  if (!result.ok()) {
    throw Error(ErrorCode::kBadInput, options.manifest,
                std::to_string(result.mistakes.size()) +
                    (result.mistakes.size() == 1 ? " mistake\n" : " mistakes\n") +
                    manifest::text(result.mistakes));
  }
  const Loaded loaded{*result.manifest, manifest::find_project(options.manifest)};
  if (options.expand) {
    print(manifest::expand(loaded.manifest).dump_pretty());
    return kDone;
  }
  const Hellos hellos = ask_workers(loaded);
  const auto mistakes = mistakes_against(loaded.manifest, hellos);
  if (!mistakes.empty()) {
    throw Error(ErrorCode::kBadInput, options.manifest, manifest::text(mistakes));
  }
  print(options.manifest + ": no mistakes; digest " + manifest::digest(loaded.manifest) + "\n");
  for (const auto& note : result.notes) {
    print("note: " + note + "\n");
  }
  for (const auto& why : hellos.not_asked) {
    print("not checked: factors and boundaries, " + why + "\n");
  }
  return kDone;
}

int diff_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const Hellos hellos = ask_workers(loaded);
  print(manifest::table(manifest::diff(loaded.manifest, pointer(hellos.a), pointer(hellos.b))));
  for (const auto& why : hellos.not_asked) {
    print("not known: defaults of the worker, " + why + "\n");
  }
  return kDone;
}

int plan_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const record::Plan plan = plan::make_plan(loaded.manifest);
  plan::CostAssumptions assumptions;
  assumptions.worker_start_s = options.start_s;
  assumptions.other_request_ns = options.request_ms * 1e6;
  const auto cost = plan::cost_of(loaded.manifest, plan, assumptions);
  if (options.json) {
    base::Json json = store::to_json(plan);
    json.set("minutes", cost.start_minutes + cost.measuring_minutes);
    json.set("megabytes", cost.megabytes);
    print(json.dump_pretty());
  } else {
    for (const auto& pass : plan.passes) {
      std::string line = std::string(record::name(pass.phase)) + " pass " +
                         std::to_string(pass.index + 1) +
                         (pass.fresh_workers ? " (fresh workers)" : "") + ":";
      for (const auto& block : pass.blocks) {
        line += " " + block.workload + " " + block.slot_order;
      }
      print(line + "\n");
    }
    print("about " + minutes_text(cost) + "\n");
    if (options.request_ms <= 0) {
      print("(if slots fill their shortest time; say --request-ms for a better guess)\n");
    }
  }
  const auto reasons = plan::limits_exceeded(loaded.manifest, cost);
  if (reasons.empty()) {
    return kDone;
  }
  for (const auto& cheaper : plan::cheaper_plans(loaded.manifest, assumptions)) {
    print("cheaper: " + cheaper.change + ", about " + minutes_text(cheaper.cost) + "; it " +
          cheaper.loses + "\n");
  }
  throw Error(ErrorCode::kPreflight, options.manifest,
              base::join(reasons, "; ") + "; raise the limit or choose a cheaper plan");
}

int register_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const auto registered = register_now(loaded, options.supersede);
  const auto& lock = registered.registration;
  print((registered.existed ? "registered before: " : "registered: ") +
        lock.lock_digest.substr(0, 8) + " " + registered.lock_file + "\n");
  for (const auto& note : registered.notes) {
    print("note: " + note + "\n");
  }
  return kDone;
}

int preflight_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
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
    print((row.passed ? "  ok    " : "  FAIL  ") + row.name + ": " + row.text + "\n");
  }
  for (const auto& note : found.notes) {
    print("  note  " + note.code + " " + note.text + "\n");
  }
  found.require();
  return kDone;
}

int build_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  for (const std::string arm : {"A", "B"}) {
    const auto command = run::arm_command(loaded.manifest, arm, loaded.project, command_sources());
    print(arm + ": " + base::join(command.argv, " ") +
          (command.tree.empty() ? " (nothing to build)" : " (tree " + command.tree + ")") + "\n");
  }
  return kDone;
}

int ledger_command(const Options& options) {
  const auto reading = manifest::read_ledger(manifest::ledger_folder(options.manifest));
  print(reading.events.empty() ? "no events\n" : manifest::graph(reading));
  if (!reading.problems.empty()) {
    throw Error(ErrorCode::kEvidence, manifest::ledger_folder(options.manifest).string(),
                base::join(reading.problems, "; ") + "; restore the files as they were committed");
  }
  return kDone;
}

int withdraw_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const record::Registration lock = registration_of(loaded);
  host::SystemClock clock;
  const auto event = manifest::withdraw(manifest::ledger_folder(options.manifest), lock.lock_digest,
                                        options.reason, clock.utc_seconds());
  print("withdrawn: " + lock.lock_digest.substr(0, 8) + " " + event.file + "\n");
  return kDone;
}

}  // namespace abba::cli
