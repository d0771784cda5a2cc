#include <fmt/format.h>

#include <string>

#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/report/claims.h"
#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/stats/family.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

std::string command_text(const record::Manifest& manifest, const record::Arm& arm) {
  const auto& command = !arm.program.empty()  ? arm.program
                        : !arm.worker.empty() ? arm.worker
                                              : manifest.worker;
  return command.empty() ? "the default worker" : base::join(command, " ");
}

std::string factors_text(const record::Arm& arm) {
  std::vector<std::string> parts;
  for (const auto& [factor, level] : arm.factors) {
    parts.push_back(factor + " = " + level);
  }
  return parts.empty() ? "–" : base::join(parts, ", ");
}

Table arms_table(const record::Manifest& manifest) {
  Table table;
  table.head = {"arm", "label", "factors", "revision", "command"};
  table.first_number = 5;
  for (const record::Arm* arm : {&manifest.a, &manifest.b}) {
    table.rows.push_back({plain(arm == &manifest.a ? "A (baseline)" : "B"), plain(arm->label),
                          code(factors_text(*arm)), code(arm->rev),
                          code(command_text(manifest, *arm))});
  }
  return table;
}

// What a program that prints its own samples makes of the counts, and the clock it has.
std::string programs_text(const record::RunRecord& run) {
  std::string text;
  for (const record::Arm* arm : {&run.manifest.a, &run.manifest.b}) {
    if (record::prints_own_samples(arm->reads)) {
      text += fmt::format(
          " The program of {} prints its own samples ({}; clock: the program's own): their number "
          "was asked for, and it decides.",
          arm->id, record::name(arm->reads));
    }
  }
  return text;
}

std::string plan_text(const record::RunRecord& run) {
  const record::Protocol& p = run.manifest.protocol;
  std::string text = fmt::format(
      "Preset {}: {}{}, {} of order {} for each workload and pass, workers {}, {}, cache {}.",
      record::name(p.preset), p.feasibility ? "one feasibility pass (in no statistic), " : "",
      counted(p.passes, "pass"), counted(p.blocks, "block"), record::name(p.order),
      record::name(p.workers), record::name(p.placement), p.cache);
  if (run.manifest.workloads.size() > 1) {
    text += fmt::format(" Workloads take turns in {} order.",
                        record::name(p.workload_order.value_or(record::default_workload_order(p))));
  }
  const stats::LookPlan looks = stats::look_plan(run);
  if (looks.looks.size() > 1) {
    text += fmt::format(" Looks after {} passes, each at {}.", fmt::join(looks.looks, " and "),
                        stats::level_text(1 - looks.look_alpha));
  }
  for (const record::SlotCounts& counts : run.counts) {
    text += fmt::format(" Slots of {}: {} warm-up and {} measured requests.", counts.workload,
                        count_text(counts.warmup), count_text(counts.requests));
  }
  return text + programs_text(run);
}

std::string success_text(const record::Manifest& manifest) {
  const record::Success& s = manifest.success;
  std::string text =
      fmt::format("Claim {} on {}, metric {}", record::name(s.claim),
                  s.primary.empty() ? "every workload" : base::join(s.primary, ", "), s.metric);
  if (s.at_least > 0) {
    text += ", by at least " + stats::percent(s.at_least).substr(1);
  }
  text +=
      s.harm_limit ? ", harm limit " + stats::percent(*s.harm_limit).substr(1) : ", no harm limit";
  return text + fmt::format(", confidence {}.", stats::level_text(s.confidence));
}

void registration(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  const record::Registration& lock = run.registration;
  document.heading("Registration", 3);
  Bullets bullets;
  if (run.exploratory || lock.exploratory()) {
    bullets.items.push_back({plain("Exploratory: nothing was registered before this run.")});
  } else {
    bullets.items.push_back({plain("Registered " + lock.registered_utc + ", lock "),
                             code(lock.lock_digest), plain(", manifest "),
                             code(lock.manifest_digest)});
    const std::int64_t registered = unix_seconds(lock.registered_utc);
    const std::int64_t started = unix_seconds(run.started_utc);
    if (registered >= 0 && started >= 0) {
      bullets.items.push_back({plain(fmt::format("{} lay between registration and run.",
                                                 counted(started - registered, "second")))});
    }
    if (!lock.supersedes.empty()) {
      bullets.items.push_back({plain("It replaces registration "), code(lock.supersedes)});
    }
  }
  bullets.items.push_back(
      {plain(source.context.standing.empty() ? "Standing: not examined by verify yet."
                                             : "Standing: " + source.context.standing + ".")});
  bullets.items.push_back(
      {plain(source.context.attempts_before < 0
                 ? "How many runs went before is not known here."
                 : fmt::format("{} of this experiment went before on this machine (a lower bound).",
                               counted(source.context.attempts_before, "run")))});
  if (!lock.commit.empty()) {
    bullets.items.push_back(
        {plain("Commit "), code(lock.commit), plain(" (recorded, never compared)")});
  }
  document.add(std::move(bullets));
}

}  // namespace

void plan_section(const Source& source, Document& document) {
  const record::Manifest& manifest = source.run.manifest;
  document.heading("Plan");
  if (!manifest.rationale.empty()) {
    document.paragraph(manifest.rationale);
  }
  const auto causes = cause_words(manifest.hypothesis + "\n" + manifest.rationale);
  if (!causes.empty()) {
    document.paragraph("The author's text names a cause (" + base::join(causes, ", ") +
                       "). No hardware counter was read in this run, so nothing here supports or "
                       "contradicts it.");
  }
  document.paragraph(
      Line{plain("Independent variable: "), code(manifest.independent_variable),
           plain(manifest.combined ? " (unisolated: several factors differ)." : ".")});
  document.add(arms_table(manifest));
  document.paragraph(plan_text(source.run));
  document.paragraph(success_text(manifest));
  document.paragraph("Prior data: " + manifest.prior_data + ". " +
                     (manifest.evidence.present()
                          ? "Evidence: run " + manifest.evidence.run + ", " + manifest.evidence.row
                          : "No profile is cited as evidence") +
                     ".");
  registration(source, document);
}

}  // namespace abba::report
