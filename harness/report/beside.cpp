// One change under two plans, claims side by side.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "harness/record/names.h"
#include "harness/report/document.h"
#include "harness/report/format.h"
#include "harness/report/report.h"
#include "harness/stats/family.h"
#include "harness/stats/plan_claims.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

using record::Verdict;
using record::Word;

void require_same_change(const record::RunRecord& x, const record::RunRecord& y) {
  const auto refuse = [&](const std::string& what) {
    throw base::Error(base::ErrorCode::kBadInput, y.file,
                      "is another change than " + x.file + ": the " + what +
                          " differ; name two runs of one change under two plans");
  };
  if (x.manifest.independent_variable != y.manifest.independent_variable) {
    refuse("independent variables");
  }
  for (const char* arm : {"A", "B"}) {
    const record::Arm& a = x.manifest.arm(arm);
    const record::Arm& b = y.manifest.arm(arm);
    if (a.factors != b.factors || a.rev != b.rev || a.program != b.program) {
      refuse(std::string("arms ") + arm);
    }
  }
}

Line two(const std::string& what, const std::string& x, const std::string& y) {
  return {plain(what), plain(x), plain(y)};
}

std::string plan_cell(const record::RunRecord& run) {
  const auto& p = run.manifest.protocol;
  std::string text =
      fmt::format("{}: {}, {} of order {} a pass, workers {}", record::name(p.preset),
                  counted(p.passes, "pass"), counted(p.blocks, "block"), record::name(p.order),
                  record::name(p.workers));
  const stats::LookPlan looks = stats::look_plan(run);
  if (looks.looks.size() > 1) {
    text += fmt::format(", looks after {}", fmt::join(looks.looks, " and "));
  }
  return text;
}

std::string duration_cell(const record::RunRecord& run) {
  const auto from = unix_seconds(run.started_utc);
  const auto to = unix_seconds(run.finished_utc);
  return from < 0 || to < from ? "not known" : seconds_text(static_cast<double>(to - from));
}

std::string doubts_cell(const record::RunRecord& run, const record::Analysis& analysis) {
  std::vector<std::string> codes;
  for (const auto* notes : {&analysis.notes, &run.notes}) {
    for (const record::Note& note : *notes) {
      if (note.severity != record::Severity::kInfo &&
          std::find(codes.begin(), codes.end(), note.code) == codes.end()) {
        codes.push_back(note.code);
      }
    }
  }
  std::sort(codes.begin(), codes.end());
  return codes.empty() ? "none" : fmt::format("{}", fmt::join(codes, ", "));
}

Table plans_table(const Judged& x, const Judged& y) {
  const auto a = stats::plan_claims(x.run.manifest);
  const auto b = stats::plan_claims(y.run.manifest);
  Table table;
  table.head = {"", x.run.manifest.id, y.run.manifest.id};
  table.first_number = 3;
  table.rows = {
      two("plan", plan_cell(x.run), plan_cell(y.run)),
      two("may say", a.may_say, b.may_say),
      two("cannot say", a.cannot_say.empty() ? "–" : a.cannot_say,
          b.cannot_say.empty() ? "–" : b.cannot_say),
      two("wrong direction", a.error_rate, b.error_rate),
      two("run", x.run.run_id, y.run.run_id),
      two("registered", x.run.exploratory ? "no" : x.run.registration.registered_utc,
          y.run.exploratory ? "no" : y.run.registration.registered_utc),
      two("took", duration_cell(x.run), duration_cell(y.run)),
      two("predicted", x.run.manifest.hypothesis, y.run.manifest.hypothesis),
      two("said", x.analysis.headline, y.analysis.headline),
      two("doubts", doubts_cell(x.run, x.analysis), doubts_cell(y.run, y.analysis)),
  };
  return table;
}

const Verdict* verdict_on(const record::Analysis& analysis, const std::string& workload) {
  const auto found = std::find_if(analysis.verdicts.begin(), analysis.verdicts.end(),
                                  [&](const Verdict& v) { return v.workload == workload; });
  return found == analysis.verdicts.end() ? nullptr : &*found;
}

std::string claim_cell(const Verdict* verdict) {
  if (verdict == nullptr) {
    return "not measured";
  }
  std::string text(record::name(verdict->word));
  if (verdict->deciding.estimable()) {
    return text + fmt::format(", {} ({} interval {})",
                              stats::percent(verdict->effect, stats::half_width(verdict->deciding)),
                              stats::level_text(verdict->deciding.level),
                              stats::interval_text(verdict->deciding));
  }
  return verdict->passes == 0 ? text : text + ", " + stats::percent(verdict->effect, 0.01);
}

// -1 or +1: B is said to be lower or higher; 0: no direction is said.
int direction(const Verdict& verdict) {
  switch (verdict.word) {
    case Word::kImproved:
    case Word::kRegressed:
    case Word::kFaster:
    case Word::kSlower:
    case Word::kDisjointMet:
      return verdict.effect < 0 ? -1 : 1;
    default:
      return 0;
  }
}

std::string together(const Verdict* x, const Verdict* y) {
  if (x == nullptr || y == nullptr) {
    return "measured under one plan only";
  }
  const int a = direction(*x);
  const int b = direction(*y);
  if (a == b) {
    return a == 0 ? "neither says a direction" : "both say the same direction";
  }
  if (a != 0 && b != 0) {
    return "they say opposite directions";
  }
  const bool two_pass = (a != 0 ? x : y)->word == Word::kDisjointMet;
  return two_pass ? "the rule of disjoint means says a direction that the other does not show: it "
                    "does so by chance in one workload of three"
                  : "one plan shows a direction that the other does not see";
}

Table claims_table(const Judged& x, const Judged& y) {
  Table table;
  table.head = {"workload", x.run.manifest.id, y.run.manifest.id, "together"};
  table.first_number = 4;
  std::vector<std::string> workloads;
  for (const auto* analysis : {&x.analysis, &y.analysis}) {
    for (const Verdict& verdict : analysis->verdicts) {
      if (std::find(workloads.begin(), workloads.end(), verdict.workload) == workloads.end()) {
        workloads.push_back(verdict.workload);
      }
    }
  }
  for (const std::string& workload : workloads) {
    const Verdict* a = verdict_on(x.analysis, workload);
    const Verdict* b = verdict_on(y.analysis, workload);
    table.rows.push_back(
        {plain(workload), plain(claim_cell(a)), plain(claim_cell(b)), plain(together(a, b))});
  }
  return table;
}

}  // namespace

std::string beside(const Judged& x, const Judged& y) {
  require_same_change(x.run, y.run);
  Document document;
  document.title = "One change under two plans: " + x.run.manifest.id + " and " + y.run.manifest.id;
  document.paragraph(
      "Both experiments change the same thing; what they may say of it differs. B against A is the "
      "ratio of times minus one; negative means that B takes less.");
  document.heading("Claims");
  document.add(claims_table(x, y));
  document.heading("Plans");
  document.add(plans_table(x, y));
  document.paragraph(
      "Effects of the two columns must not be pooled: they come from different processes, orders "
      "and moments. Where they part, the plan with an error rate is the one to believe.");
  document.heading("Made by");
  document.add(Commands{{"abba beside " + x.run.file + " " + y.run.file}});
  return render_markdown(document);
}

}  // namespace abba::report
