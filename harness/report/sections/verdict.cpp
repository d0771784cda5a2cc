#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/report/format.h"
#include "harness/report/sections/sections.h"
#include "harness/report/supplement.h"
#include "harness/stats/family.h"
#include "harness/stats/run_kind.h"
#include "harness/stats/wording.h"

namespace abba::report {
namespace {

using record::Verdict;

Inline word_chip(const Verdict& verdict) {
  return chip(std::string(record::name(verdict.word)), tone_of(verdict.word));
}

std::string effect_text(const Verdict& verdict) {
  if (verdict.passes == 0) {
    return "–";
  }
  const auto& interval = verdict.deciding.estimable() ? verdict.deciding : verdict.plain95;
  return stats::percent(verdict.effect, interval.estimable() ? stats::half_width(interval) : 0);
}

// One verdict in one line: the word, then the effect with the interval that decided.
Line first_line(const Verdict& verdict) {
  Line line = {word_chip(verdict), plain(" on "), strong(verdict.workload)};
  if (verdict.deciding.estimable()) {
    line.push_back(plain(fmt::format(": {} ({} interval {}, {})", effect_text(verdict),
                                     stats::level_text(verdict.deciding.level),
                                     stats::interval_text(verdict.deciding),
                                     counted(verdict.passes, "pass"))));
  } else {
    line.push_back(plain(": " + verdict.reason));
  }
  return line;
}

Table verdict_table(const Source& source) {
  Table table;
  const bool seeds = stats::judged_by_disjoint_means(source.run);
  table.head = {"workload", "verdict", "B against A"};
  table.first_number = 2;
  if (!seeds) {
    table.head.insert(table.head.end(),
                      {"interval that decides", "level", "plain 95 % (secondary)"});
  }
  table.head.insert(table.head.end(), {"passes", "role"});
  for (const Verdict& verdict : source.analysis.verdicts) {
    Line row = {plain(verdict.workload), word_chip(verdict), plain(effect_text(verdict))};
    if (!seeds) {
      row.push_back(plain(stats::interval_text(verdict.deciding)));
      row.push_back(
          plain(verdict.deciding.estimable() ? stats::level_text(verdict.deciding.level) : "–"));
      row.push_back(plain(stats::interval_text(verdict.plain95)));
    }
    row.push_back(plain(std::to_string(verdict.passes)));
    row.push_back(plain(verdict.primary ? "primary" : "secondary"));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string level_sentence(const Source& source) {
  const record::Analysis& analysis = source.analysis;
  if (stats::judged_by_disjoint_means(source.run)) {
    return "The rule compares ranges of pass means; it is not a test and has no error rate of its "
           "own.";
  }
  std::string text =
      "B against A is the ratio of times minus one, averaged over passes on the log scale; "
      "negative "
      "means that B takes less.";
  std::vector<std::string> shares;
  if (analysis.looks > 1) {
    shares.push_back(fmt::format("equally by {} looks", analysis.looks));
  }
  if (analysis.verdicts.size() > 1) {
    shares.emplace_back("by the workloads after Holm");
  }
  if (!shares.empty()) {
    text += fmt::format(" The error of {} is shared {}.",
                        stats::level_text(1 - source.run.manifest.success.confidence),
                        base::join(shares, " and "));
  }
  if (analysis.stopped_early) {
    text += " The run stopped early: an estimate at which a run stops tends to be too large.";
  }
  return text;
}

// Spans that the change cannot touch, one line a workload that declares any.
void controls(const Source& source, Document& document) {
  for (const Verdict& verdict : source.analysis.verdicts) {
    std::vector<std::string> sentences;
    for (const stats::ControlRow& row : control_rows(source.run, verdict.workload)) {
      sentences.push_back(control_text(source.run, row));
    }
    if (!sentences.empty()) {
      document.paragraph(Line{strong(verdict.workload), plain(": " + base::join(sentences, " "))});
    }
  }
}

// "NAME VERSION" as the arm's worker declares itself.
std::string program_text(const record::RunRecord& run, const std::string& arm) {
  const record::WorkerHello& hello = run.hello.at(arm);
  return hello.version.empty() ? hello.name : hello.name + " " + hello.version;
}

void status_line(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  Line line;
  if (run.state != record::RunState::kFinished) {
    line.push_back(chip(std::string(record::name(run.state)), Tone::kWarn));
    const bool no_end = run.state == record::RunState::kRunning;
    line.push_back(
        plain((no_end ? " " : " the run did not end as planned. ") + run.state_text + " "));
  }
  if (source.analysis.same_hash_law) {
    line.push_back(chip("A/A run", Tone::kNeutral));
    line.push_back(plain(" both arms are the same code, factors, files and inputs. "));
  }
  if (stats::run_kind(run) == stats::RunKind::kRuntimeComparison) {
    line.push_back(chip("runtime comparison", Tone::kNeutral));
    line.push_back(plain(" A is " + program_text(run, "A") + ", B is " + program_text(run, "B") +
                         ": two programs, not one program changed. "));
  }
  if (run.exploratory) {
    line.push_back(chip("exploratory", Tone::kWarn));
    line.push_back(plain(" not registered beforehand. "));
  }
  if (run.manifest.combined) {
    line.push_back(chip("unisolated", Tone::kWarn));
    line.push_back(plain(" several factors differ between the arms. "));
  }
  if (!line.empty()) {
    document.paragraph(std::move(line));
  }
}

}  // namespace

void verdict_section(const Source& source, Document& document) {
  const record::RunRecord& run = source.run;
  document.title = !run.manifest.title.empty() ? run.manifest.title : run.manifest.id;
  const auto& verdicts = source.analysis.verdicts;
  if (verdicts.size() == 1 && run.state != record::RunState::kRunning) {
    document.paragraph(first_line(verdicts.front()));
  } else {
    document.paragraph(Line{strong(source.analysis.headline)});
  }
  status_line(source, document);
  if (!run.manifest.hypothesis.empty()) {
    document.paragraph(Line{plain("Hypothesis: "), plain(run.manifest.hypothesis)});
  }
  document.heading("Verdict");
  document.add(verdict_table(source));
  Bullets reasons;
  for (const Verdict& verdict : verdicts) {
    Line line = {strong(verdict.workload), plain(": " + verdict.reason + ".")};
    if (verdict.passes_needed > 0) {
      line.push_back(plain(fmt::format(" About {} would probably settle it.",
                                       counted(verdict.passes_needed, "pass"))));
    }
    reasons.items.push_back(std::move(line));
  }
  document.add(std::move(reasons));
  controls(source, document);
  document.paragraph(level_sentence(source));
}

}  // namespace abba::report
