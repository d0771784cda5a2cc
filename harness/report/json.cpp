// The analysis for programs. Members are only ever added under one schema name.
#include "engine/base/json.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "harness/record/names.h"
#include "harness/report/report.h"
#include "harness/report/supplement.h"
#include "harness/stats/capture_costs.h"
#include "harness/stats/run_kind.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

using base::Json;

Json interval_json(const record::Interval& interval) {
  if (!interval.estimable()) {
    return nullptr;
  }
  return Json::object({{"low", interval.low}, {"high", interval.high}, {"level", interval.level}});
}

// Negative stands for "not computed" in a Verdict; a reader of JSON gets null.
Json known(double value) {
  return value < 0 ? Json(nullptr) : Json(value);
}

Json summary_json(const record::ArmSummary& s) {
  Json json = Json::object({{"arm", s.arm}});
  json.set("pass", s.pass < 0 ? Json(nullptr) : Json(s.pass));
  json.set("count", s.count);
  json.set("failures", s.failures);
  json.set("mean", s.mean);
  json.set("median", s.median);
  json.set("p95", s.p95);
  json.set("min", s.min);
  json.set("mad", s.mad);
  return json;
}

Json verdict_json(const record::Verdict& v) {
  Json json = Json::object({{"workload", v.workload},
                            {"metric", v.metric},
                            {"boundary", v.boundary},
                            {"primary", v.primary},
                            {"word", record::name(v.word)},
                            {"reason", v.reason},
                            {"effect", v.effect},
                            {"deciding", interval_json(v.deciding)},
                            {"plain95", interval_json(v.plain95)},
                            {"passes", v.passes},
                            {"pass_sd", v.pass_sd},
                            {"detectable", known(v.detectable)},
                            {"passes_needed", known(v.passes_needed)},
                            {"hodges_lehmann", v.hodges_lehmann},
                            {"signed_rank", interval_json(v.signed_rank)},
                            {"p_difference", known(v.p_difference)},
                            {"p_equivalence", known(v.p_equivalence)},
                            {"signed_rank_p", known(v.signed_rank_p)},
                            {"sign_flip_p", known(v.sign_flip_p)},
                            {"sensitivity_agrees", v.sensitivity_agrees},
                            {"carry_over", interval_json(v.carry_over)},
                            {"blocks_used", v.blocks_used},
                            {"blocks_tainted", v.blocks_tainted},
                            {"blocks_failed", v.blocks_failed}});
  Json effects = Json::array();
  for (std::size_t i = 0; i < v.pass_effects.size(); ++i) {
    effects.push_back(
        Json::object({{"pass", v.pass_indices[i]}, {"log_ratio", v.pass_effects[i]}}));
  }
  json.set("pass_effects", std::move(effects));
  Json summaries = Json::array();
  for (const record::ArmSummary& summary : v.summaries) {
    summaries.push_back(summary_json(summary));
  }
  json.set("summaries", std::move(summaries));
  return json;
}

// Beside the verdicts and not in them: a bundle's verdicts are compared whatever build wrote it.
Json supplement_json(const record::RunRecord& run, const std::string& workload) {
  Json quantiles = Json::array();
  for (const ArmQuantile& row : arm_quantiles(run, workload)) {
    quantiles.push_back(Json::object({{"arm", row.arm},
                                      {"p", row.estimate.p},
                                      {"count", row.estimate.count},
                                      {"value", row.estimate.value},
                                      {"interval", interval_json(row.estimate.interval)},
                                      {"needs", row.estimate.needs}}));
  }
  const stats::Bootstrap bootstrap = bootstrap_check(run, workload);
  const bool known_bootstrap = bootstrap.rescaled.estimable();
  Json controls = Json::array();
  for (const stats::ControlRow& row : control_rows(run, workload)) {
    controls.push_back(Json::object({{"span", row.span},
                                     {"state", control_word(row.state)},
                                     {"passes", row.passes},
                                     {"effect", row.effect},
                                     {"interval", interval_json(row.interval)}}));
  }
  return Json::object(
      {{"workload", workload},
       {"quantiles", std::move(quantiles)},
       {"bootstrap",
        known_bootstrap
            ? Json::object({{"estimate", std::expm1(bootstrap.estimate)},
                            {"rescaled", interval_json(stats::to_fraction(bootstrap.rescaled))},
                            {"percentile", interval_json(stats::to_fraction(bootstrap.percentile))},
                            {"percentile_may_decide", bootstrap.percentile_may_decide},
                            {"resamples", kResamples}})
            : Json()},
       {"negative_controls", std::move(controls)}});
}

const char* criterion_name(record::Criterion criterion) {
  switch (criterion) {
    case record::Criterion::kMet:
      return "met";
    case record::Criterion::kNotMet:
      return "not met";
    case record::Criterion::kUndecided:
      return "undecided";
    case record::Criterion::kNone:
      break;
  }
  return "none";
}

Json notes_json(const record::RunRecord& run, const record::Analysis& analysis) {
  Json notes = Json::array();
  for (const auto* list : {&analysis.notes, &run.notes}) {
    for (const record::Note& note : *list) {
      notes.push_back(Json::object({{"code", note.code},
                                    {"severity", record::name(note.severity)},
                                    {"where", note.where},
                                    {"text", note.text}}));
    }
  }
  return notes;
}

// What was not given is null.
Json captures_json(const record::RunRecord& run) {
  const auto cost = [](const std::optional<std::int64_t>& value) {
    return value ? Json(*value) : Json();
  };
  Json captures = Json::array();
  for (const record::GraphCapture* capture : stats::counted_captures(run)) {
    const record::CaptureCosts& costs = capture->costs;
    captures.push_back(Json::object({{"workload", capture->workload},
                                     {"arm", capture->arm},
                                     {"shape", costs.shape},
                                     {"first_run_ns", cost(costs.first_run_ns)},
                                     {"warm_runs", cost(costs.warm_runs)},
                                     {"warm_ns", cost(costs.warm_ns)},
                                     {"capture_ns", cost(costs.capture_ns)},
                                     {"instantiate_ns", cost(costs.instantiate_ns)},
                                     {"upload_ns", cost(costs.upload_ns)},
                                     {"first_replay_ns", cost(costs.first_replay_ns)},
                                     {"nodes", cost(costs.nodes)},
                                     {"bytes", cost(costs.bytes)}}));
  }
  return captures;
}

Json run_json(const record::RunRecord& run) {
  return Json::object({{"id", run.run_id},
                       {"experiment", run.manifest.id},
                       {"state", record::name(run.state)},
                       {"exploratory", run.exploratory},
                       {"started_utc", run.started_utc},
                       {"finished_utc", run.finished_utc},
                       {"lock_digest", run.registration.lock_digest},
                       {"manifest_digest", run.registration.manifest_digest},
                       {"head_digest", run.head_digest}});
}

}  // namespace

std::string json(const record::RunRecord& run, const record::Analysis& analysis,
                 const ReportContext& context) {
  Json root =
      Json::object({{"schema", "abba.report/1"},
                    {"analysis_version", analysis.version},
                    {"kind", stats::name(stats::run_kind(run))},
                    {"headline", analysis.headline},
                    {"criterion", criterion_name(analysis.criterion)},
                    {"same_hash_law", analysis.same_hash_law},
                    {"passes", analysis.passes},
                    {"look", analysis.look},
                    {"looks", analysis.looks},
                    {"look_level", analysis.look_level},
                    {"stopped_early", analysis.stopped_early},
                    {"standing", context.standing},
                    {"attempts_before", known(static_cast<double>(context.attempts_before))},
                    {"run", run_json(run)}});
  Json verdicts = Json::array();
  for (const record::Verdict& verdict : analysis.verdicts) {
    verdicts.push_back(verdict_json(verdict));
  }
  root.set("verdicts", std::move(verdicts));
  Json supplements = Json::array();
  for (const record::Verdict& verdict : analysis.verdicts) {
    supplements.push_back(supplement_json(run, verdict.workload));
  }
  root.set("supplements", std::move(supplements));
  if (const Json captures = captures_json(run); !captures.as_array().empty()) {
    root.set("graph_captures", captures);
  }
  root.set("notes", notes_json(run, analysis));
  Json commands = Json::array();
  for (const std::string& command : context.commands) {
    commands.push_back(command);
  }
  root.set("commands", std::move(commands));
  return root.dump_pretty();
}

}  // namespace abba::report
