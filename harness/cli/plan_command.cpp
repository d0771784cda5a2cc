// `abba plan`: what a run would do, cost and be allowed to say, before anything runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/cli/calibration_files.h"
#include "harness/cli/commands.h"
#include "harness/cli/context.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/noise_budget.h"
#include "harness/cli/reporting.h"
#include "harness/plan/cost.h"
#include "harness/plan/make_plan.h"
#include "harness/plan/sizing.h"
#include "harness/record/names.h"
#include "harness/report/format.h"
#include "harness/stats/estimators.h"
#include "harness/stats/plan_claims.h"
#include "harness/store/record_json.h"
#include "harness/store/run_file.h"

namespace abba::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

std::string minutes_text(const record::PlanCost& cost) {
  return fmt::format("{:.1f} minutes ({:.1f} starts, {:.1f} measuring), {:.1f} MB, {} requests",
                     cost.start_minutes + cost.measuring_minutes, cost.start_minutes,
                     cost.measuring_minutes, cost.megabytes, cost.requests);
}

Json cost_json(const record::PlanCost& cost) {
  return Json::object({{"minutes", cost.start_minutes + cost.measuring_minutes},
                       {"start_minutes", cost.start_minutes},
                       {"measuring_minutes", cost.measuring_minutes},
                       {"megabytes", cost.megabytes},
                       {"requests", cost.requests}});
}

// What durations are assumed, and where they come from.
struct Guess {
  plan::CostAssumptions assumptions;
  std::string start_from;
  std::string request_from;
};

// Seconds that one worker took to become ready, the median of those that say; 0 = none says.
double start_seconds(const record::RunRecord& run) {
  std::vector<double> seconds;
  for (const record::WorkerProcess& worker : run.workers) {
    const double ready = calibration::ready_seconds(worker);
    if (ready > 0 && worker.pass != record::kLaterPass) {
      seconds.push_back(ready);
    }
  }
  return seconds.empty() ? 0 : stats::median(std::move(seconds));
}

// Whether it holds a time of any workload.
bool take_from_run(const record::RunRecord& run, const std::string& file, Guess& guess) {
  bool any = false;
  const double start = start_seconds(run);
  if (start > 0) {
    guess.assumptions.worker_start_s = start;
    guess.start_from = file;
  }
  for (const record::Workload& workload : run.manifest.workloads) {
    for (const record::Pass& pass : run.passes) {
      const double a = plan::typical_request_ns(pass, workload.id, "A");
      const double b = plan::typical_request_ns(pass, workload.id, "B");
      if (a > 0 && b > 0) {
        guess.assumptions.request_ns[workload.id] = (a + b) / 2;
        guess.request_from = file;
        any = true;
      }
    }
  }
  return any;
}

// A/A runs of the same subject know how long things take, too.
void take_from_noise(const record::Manifest& manifest, const NoiseBudget& budget, Guess& guess) {
  for (const record::Workload& workload : manifest.workloads) {
    const auto* noise = calibration::noise_for(budget.noise, manifest, workload.id);
    if (noise == nullptr || noise->subject != calibration::subject_of(manifest)) {
      continue;
    }
    guess.assumptions.request_ns[workload.id] = noise->request_ns;
    guess.request_from =
        "A/A runs of " + base::join({noise->manifests.begin(), noise->manifests.end()}, ", ");
    if (noise->pass_s > 0) {
      guess.assumptions.worker_start_s = noise->pass_s / 2;
      guess.start_from = guess.request_from;
    }
  }
}

// The newest run of this experiment that can be read, else A/A runs; a person's own guesses go
// before both.
Guess guess_of(const Options& options, const Loaded& loaded, const NoiseBudget& budget) {
  Guess guess;
  take_from_noise(loaded.manifest, budget, guess);
  bool found = false;
  const auto files = run_files(loaded.project, loaded.manifest.id, true);
  for (auto file = files.rbegin(); file != files.rend() && !found; ++file) {
    try {
      found =
          take_from_run(store::read_run(file->string()), shown_path(*file, loaded.project), guess);
    } catch (const Error&) {  // the next older one may do; `abba verify` names what is wrong
      continue;
    }
  }
  if (options.start_s > 0) {
    guess.assumptions.worker_start_s = options.start_s;
    guess.start_from = "--start-s";
  }
  if (options.request_ms > 0) {
    guess.assumptions.request_ns.clear();
    guess.assumptions.other_request_ns = options.request_ms * 1e6;
    guess.request_from = "--request-ms";
  }
  return guess;
}

// "A, then for B": whose workers a later pass starts, one after the other.
std::string later_arms(const record::PlannedPass& pass) {
  std::vector<std::string> arms;
  for (const char arm : pass.start_order) {
    arms.emplace_back(1, arm);
  }
  return base::join(arms, ", then for ");
}

std::string passes_text(const record::Plan& plan) {
  std::string text;
  for (const auto& pass : plan.passes) {
    const bool later = record::is_later(pass.phase);
    text += std::string(record::name(pass.phase)) + " pass " + std::to_string(pass.index + 1) +
            (later                ? " (a fresh worker for " + later_arms(pass) + ")"
             : pass.fresh_workers ? " (fresh workers)"
                                  : "") +
            ":";
    for (const auto& block : pass.blocks) {
      text += " " + block.workload + (later ? "" : " " + block.slot_order);
    }
    text += "\n";
  }
  return text;
}

std::string guess_text(const record::Manifest& manifest, const Guess& guess) {
  std::string text =
      fmt::format("a worker takes {:.2f} s to start ({})\n", guess.assumptions.worker_start_s,
                  guess.start_from.empty() ? "assumed; say --start-s" : "from " + guess.start_from);
  if (guess.request_from.empty()) {
    return text + "requests fill the shortest time of a slot (assumed; say --request-ms)\n";
  }
  for (const record::Workload& workload : manifest.workloads) {
    const auto known = guess.assumptions.request_ns.find(workload.id);
    const double ns = known != guess.assumptions.request_ns.end()
                          ? known->second
                          : guess.assumptions.other_request_ns;
    if (ns > 0) {
      text += fmt::format("a request of {} takes {} (from {})\n", workload.id,
                          report::time_text(ns), guess.request_from);
    }
  }
  return text;
}

std::string claims_text(const stats::PlanClaims& claims) {
  std::string text = "may say: " + claims.may_say + "\n";
  if (!claims.cannot_say.empty()) {
    text += "cannot say: " + claims.cannot_say + "\n";
  }
  if (!claims.error_rate.empty()) {
    text += "a wrong direction: " + claims.error_rate + "\n";
  }
  return text;
}

Json plan_json(const record::Plan& plan, const record::PlanCost& cost,
               const stats::PlanClaims& claims, const std::vector<plan::CheaperPlan>& cheaper,
               const std::vector<std::string>& warnings) {
  Json json = store::to_json(plan);
  const Json numbers = cost_json(cost);
  for (const auto& [key, value] : numbers.as_object()) {
    json.set(key, value);
  }
  json.set("may_say", claims.may_say);
  json.set("cannot_say", claims.cannot_say);
  json.set("error_rate", claims.error_rate);
  Json others = Json::array();
  for (const auto& other : cheaper) {
    Json row = cost_json(other.cost);
    row.set("change", other.change);
    row.set("loses", other.loses);
    others.push_back(std::move(row));
  }
  json.set("cheaper", std::move(others));
  Json words = Json::array();
  for (const std::string& warning : warnings) {
    words.push_back(warning);
  }
  json.set("warnings", std::move(words));
  return json;
}

}  // namespace

int plan_command(const Options& options) {
  const Loaded loaded = load_manifest(options.manifest);
  const record::Plan plan = plan::make_plan(loaded.manifest);
  const NoiseBudget budget =
      noise_budget(loaded.project, machine_class_here(loaded.manifest.device));
  const Guess guess = guess_of(options, loaded, budget);
  const auto cost = plan::cost_of(loaded.manifest, plan, guess.assumptions);
  const auto claims = stats::plan_claims(loaded.manifest);
  const auto cheaper = plan::cheaper_plans(loaded.manifest, guess.assumptions);
  const auto warnings = plan_warnings(loaded.manifest, budget);
  if (options.json) {
    print(plan_json(plan, cost, claims, cheaper, warnings).dump_pretty());
  } else {
    print(passes_text(plan) + "about " + minutes_text(cost) + "\n" +
          guess_text(loaded.manifest, guess) + claims_text(claims));
    for (const std::string& warning : warnings) {
      print(warning + "\n");
    }
    for (const auto& other : cheaper) {
      print("cheaper: " + other.change + ", about " + minutes_text(other.cost) + "; it " +
            other.loses + "\n");
    }
  }
  const auto reasons = plan::limits_exceeded(loaded.manifest, cost);
  if (!reasons.empty()) {
    throw Error(ErrorCode::kPreflight, options.manifest,
                base::join(reasons, "; ") + "; raise the limit or choose a cheaper plan");
  }
  return kDone;
}

}  // namespace abba::cli
