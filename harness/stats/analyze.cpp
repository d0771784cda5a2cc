#include "harness/stats/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/record/names.h"
#include "harness/stats/checks.h"
#include "harness/stats/contrasts.h"
#include "harness/stats/decide.h"
#include "harness/stats/family.h"
#include "harness/stats/notes.h"
#include "harness/stats/power.h"
#include "harness/stats/run_notes.h"
#include "harness/stats/same_hash.h"
#include "harness/stats/versions.h"
#include "harness/stats/wording.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::Claim;
using record::Criterion;
using record::Note;
using record::Preset;
using record::Severity;
using record::Verdict;
using record::Word;

bool exploratory_words(const record::RunRecord& run) {
  return run.exploratory || run.manifest.protocol.preset == Preset::kQuick;
}

bool usable_margin(double margin) {
  return margin > 0 && margin < 1;
}

Rule make_rule(const record::RunRecord& run, const Measure& measure) {
  Rule rule;
  const record::Success& success = run.manifest.success;
  rule.claim = success.claim;
  if (success.harm_limit && usable_margin(*success.harm_limit)) {
    rule.margin = success.harm_limit;
  }
  rule.at_least = success.at_least > 0 && success.at_least < 1 ? success.at_least : 0;
  rule.higher_is_better = measure.higher_is_better;
  rule.may_say_equivalent = !exploratory_words(run);
  return rule;
}

bool is_primary(const record::RunRecord& run, const std::string& workload) {
  const auto& primary = run.manifest.success.primary;
  return primary.empty() || std::find(primary.begin(), primary.end(), workload) != primary.end();
}

// Sets the word to invalid with the first reason found, and takes back what must not be read.
void invalidate(Verdict& verdict, const Note& note) {
  verdict.word = Word::kInvalid;
  const record::NoteEntry* entry = find_note(note.code);
  verdict.reason = note.code + ": " + note.text;
  if (entry != nullptr && note.text.empty()) {
    verdict.reason = note.code + ": " + std::string(entry->explanation);
  }
  verdict.deciding = {};
  verdict.p_difference = -1;
  verdict.p_equivalence = -1;
  verdict.signed_rank_p = -1;
  verdict.sign_flip_p = -1;
}

// The state of one analysis in the making: a verdict, its data and its notes for each workload.
class Analyser {
 public:
  Analyser(const record::RunRecord& run, const Options& options)
      : run_(run),
        options_(options),
        version_(rules_of(run)),
        measure_(primary_measure(run)),
        rule_(make_rule(run, measure_)),
        looks_(look_plan(run)),
        passes_(counted_passes(run)) {}

  Analysis take() {
    start();
    for (const record::Workload& workload : run_.manifest.workloads) {
      measure_workload(workload.id);
    }
    if (judged_by_disjoint_means(run_)) {
      apply_seeds_rule();
    } else {
      apply_verdict_rule();
    }
    apply_same_hash_law();
    finish();
    return std::move(out_);
  }

 private:
  void start() {
    out_.version = version_ ? std::string(version_->version) : run_.analysis_version;
    out_.passes = static_cast<int>(passes_.size());
    out_.looks = static_cast<int>(looks_.looks.size());
    out_.look_level = 1 - looks_.look_alpha;
    const auto look = std::find(looks_.looks.begin(), looks_.looks.end(), out_.passes);
    if (look != looks_.looks.end()) {
      out_.look = static_cast<int>(look - looks_.looks.begin()) + 1;
      out_.stopped_early = out_.look < out_.looks && run_.state == record::RunState::kFinished;
    }
    out_.same_hash_law = options_.same_hash_law && arms_are_equal(run_);
    out_.notes = run_notes(run_, passes_, out_.stopped_early, judged_by_disjoint_means(run_));
    if (!version_) {
      out_.notes.push_back(
          make_note(kUnknownAnalysis, "", "the run names " + run_.analysis_version));
    }
  }

  void measure_workload(const std::string& id) {
    Verdict verdict;
    verdict.workload = id;
    verdict.metric = measure_.metric;
    verdict.boundary = boundary_of(id);
    verdict.primary = is_primary(run_, id);
    WorkloadContrasts data = contrasts(
        run_, passes_, id, measure_, options_.describes_requests || judged_by_disjoint_means(run_));
    std::vector<Note> notes = data.notes;
    for (const PassValue& pass : data.passes) {
      verdict.pass_effects.push_back(pass.effect);
      verdict.pass_indices.push_back(pass.index);
    }
    verdict.passes = static_cast<int>(data.passes.size());
    verdict.summaries = std::move(data.summaries);
    verdict.blocks_used = data.blocks_used;
    verdict.blocks_tainted = data.blocks_tainted;
    verdict.blocks_failed = data.blocks_failed;
    if (verdict.passes == 0 && data.sound()) {
      notes.push_back(make_note(kNothingMeasured, id, "no complete measured pass"));
    }
    append(notes, check_outputs(run_, id));
    append(notes, check_carry_over(run_, data, verdict));
    append(notes, check_exposure(run_, passes_, data, id));
    append(notes, check_negative_controls(run_, passes_, id));
    append(notes, table_notes(verdict));
    if (verdict.passes == 1) {
      verdict.effect = std::expm1(verdict.pass_effects.front());
      verdict.hodges_lehmann = verdict.effect;
    } else if (verdict.passes > 1 && !estimate(rule_, verdict)) {
      notes.push_back(make_note(kNoVariance, id, fmt::format("{} passes", verdict.passes)));
    }
    append(notes, taint_beside(data, verdict));
    workload_notes_.push_back(std::move(notes));
    out_.verdicts.push_back(std::move(verdict));
  }

  std::string boundary_of(const std::string& id) const {
    if (!measure_.boundary.empty()) {
      return measure_.boundary;
    }
    for (const record::Pass* pass : passes_) {
      for (const record::Block& block : pass->blocks) {
        if (block.workload == id) {
          return block.boundary;
        }
      }
    }
    return "";
  }

  static void append(std::vector<Note>& to, std::vector<Note> from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  }

  std::vector<Note> table_notes(const Verdict& verdict) const {
    for (const record::ArmSummary& summary : verdict.summaries) {
      if (summary.pass == -1 && summary.count < version_.value_or(AnalysisRules{}).fewest_for_p95) {
        return {make_note(kP95WithoutInterval, verdict.workload,
                          fmt::format("{} requests of arm {}", summary.count, summary.arm))};
      }
    }
    return {};
  }

  static std::vector<Note> taint_beside(const WorkloadContrasts& data, const Verdict& verdict) {
    if (data.blocks_tainted == 0 || data.passes.empty()) {
      return {};
    }
    double sum = 0;
    for (const PassValue& pass : data.passes) {
      sum += pass.with_taint;
    }
    const double all = std::expm1(sum / static_cast<double>(data.passes.size()));
    return {make_note(kTaintReplaced, verdict.workload,
                      fmt::format("{} tainted blocks; with them the effect is {}, without {}",
                                  data.blocks_tainted, percent(all), percent(verdict.effect)))};
  }

  // The first reason for `invalid`: the data's own, then the number of passes.
  [[nodiscard]] const Note* fatal(std::size_t i) {
    for (const Note& note : workload_notes_[i]) {
      if (note.severity == Severity::kInvalid) {
        return &note;
      }
    }
    for (const Note& note : out_.notes) {
      if (note.severity == Severity::kInvalid && note.where.empty()) {
        return &note;
      }
    }
    return fatal_in_run(out_.verdicts[i].workload);
  }

  // What the run itself found fatal: about this workload, or about no workload in particular.
  [[nodiscard]] const Note* fatal_in_run(const std::string& workload) const {
    const auto names_another = [&](const Note& note) {
      return note.where != workload &&
             std::any_of(out_.verdicts.begin(), out_.verdicts.end(),
                         [&](const Verdict& verdict) { return verdict.workload == note.where; });
    };
    for (const Note& note : run_.notes) {
      if (note.severity == Severity::kInvalid && !names_another(note)) {
        return &note;
      }
    }
    return nullptr;
  }

  void apply_seeds_rule() {
    for (std::size_t i = 0; i < out_.verdicts.size(); ++i) {
      Verdict& verdict = out_.verdicts[i];
      if (const Note* note = fatal(i)) {
        invalidate(verdict, *note);
      } else if (verdict.passes < 2) {
        invalidate(verdict,
                   make_note(kNothingMeasured, verdict.workload, "the rule needs two passes"));
      } else {
        const int side = judge_disjoint(verdict);
        append(out_.notes, check_means_against_medians(run_, verdict, side));
      }
    }
  }

  void check_pass_count() {
    if (out_.passes < kFewestPasses) {
      out_.notes.push_back(
          make_note(kTooFewPasses, "",
                    fmt::format("{} complete passes, {} needed", out_.passes, kFewestPasses)));
    } else if (out_.look == 0) {
      out_.notes.push_back(make_note(kBetweenLooks, "",
                                     fmt::format("{} complete passes, looks at {}", out_.passes,
                                                 fmt::join(looks_.looks, ", "))));
    }
    const auto& margin = run_.manifest.success.harm_limit;
    if (margin && !usable_margin(*margin)) {
      out_.notes.push_back(make_note(kBadHarmLimit, "", fmt::format("harm limit {}", *margin)));
    }
  }

  void apply_verdict_rule() {
    check_pass_count();
    for (std::size_t i = 0; i < out_.verdicts.size(); ++i) {
      if (const Note* note = fatal(i)) {
        invalidate(out_.verdicts[i], Note(*note));
      }
    }
    judge_family(true);
    judge_family(false);
  }

  // Primary workloads share the look's error by Holm; so do the secondary ones among themselves.
  void judge_family(bool primary) {
    std::vector<std::size_t> members;
    std::vector<double> p_difference;
    std::vector<double> p_equivalence;
    for (std::size_t i = 0; i < out_.verdicts.size(); ++i) {
      if (out_.verdicts[i].primary == primary) {
        members.push_back(i);
        p_difference.push_back(out_.verdicts[i].p_difference);
        p_equivalence.push_back(out_.verdicts[i].p_equivalence);
      }
    }
    const std::vector<HolmRow> difference = holm(p_difference, looks_.look_alpha);
    const std::vector<HolmRow> equivalence = holm(p_equivalence, looks_.look_alpha);
    for (std::size_t k = 0; k < members.size(); ++k) {
      Verdict& verdict = out_.verdicts[members[k]];
      if (verdict.p_difference >= 0) {
        judge(rule_, difference[k], equivalence[k], verdict);
        judged_notes(difference[k], workload_notes_[members[k]], verdict);
      }
    }
  }

  void judged_notes(const HolmRow& row, std::vector<Note>& notes, Verdict& verdict) {
    if (!verdict.sensitivity_agrees) {
      notes.push_back(make_note(kSensitivityDisagrees, verdict.workload,
                                fmt::format("signed rank p {:.3f}, sign flip p {:.3f}",
                                            verdict.signed_rank_p, verdict.sign_flip_p)));
    }
    verdict.detectable =
        std::expm1(detectable_difference(verdict.passes, verdict.pass_sd, row.alpha));
    if (rule_.margin && rule_.may_say_equivalent) {
      const double margin = std::log1p(*rule_.margin);
      const double alpha = looks_.look_alpha;
      if (detectable_margin(looks_.looks.back(), verdict.pass_sd, alpha) > margin) {
        const int needed = passes_for_equivalence(margin, verdict.pass_sd, alpha);
        notes.push_back(
            make_note(kCannotShowEquivalence, verdict.workload,
                      fmt::format("this plan cannot show equivalence within {}; needs {} passes",
                                  percent(*rule_.margin).substr(1),
                                  needed > 0 ? std::to_string(needed) : "more than 10000")));
      }
    }
    if (exploratory_words(run_)) {
      verdict.word = exploratory_word(verdict.word);
    }
  }

  void apply_same_hash_law() {
    if (!out_.same_hash_law) {
      return;
    }
    out_.notes.push_back(make_note(kArmsEqual, "", "the effect below is noise by construction"));
    for (Verdict& verdict : out_.verdicts) {
      const bool claim = verdict.word == Word::kImproved || verdict.word == Word::kRegressed ||
                         verdict.word == Word::kFaster || verdict.word == Word::kSlower;
      if (claim) {
        verdict.word = Word::kInconclusive;
        verdict.reason =
            "the arms are equal, so the interval excludes zero by chance or by a "
            "fault of the set-up: " +
            interval_text(verdict.deciding);
      } else if (verdict.word == Word::kDisjointMet) {
        verdict.reason += "; the arms are equal, so this is a false alarm of the rule";
      }
    }
  }

  [[nodiscard]] Criterion criterion_of(const Verdict& verdict) const {
    if (!judged_by_disjoint_means(run_)) {
      return meets_claim(rule_, looks_.look_alpha, verdict);
    }
    if (verdict.word == Word::kInvalid) {
      return Criterion::kUndecided;
    }
    const bool good = (verdict.effect < 0) != rule_.higher_is_better;
    return verdict.word == Word::kDisjointMet && good ? Criterion::kMet : Criterion::kNotMet;
  }

  // Every primary workload must meet the claim, at the uncorrected level: all of them together are
  // one claim.
  [[nodiscard]] Criterion criterion() const {
    const bool directional = rule_.claim == Claim::kFaster || judged_by_disjoint_means(run_);
    if (run_.exploratory || (out_.same_hash_law && directional)) {
      return Criterion::kNone;
    }
    bool any = false;
    Criterion all = Criterion::kMet;
    for (const Verdict& verdict : out_.verdicts) {
      if (verdict.primary) {
        any = true;
        const Criterion one = criterion_of(verdict);
        if (one == Criterion::kNotMet || (one == Criterion::kUndecided && all == Criterion::kMet)) {
          all = one;
        }
      }
    }
    return any ? all : Criterion::kNone;
  }

  void finish() {
    for (std::vector<Note>& notes : workload_notes_) {
      append(out_.notes, std::move(notes));
    }
    out_.criterion = criterion();
    out_.headline = headline(out_, run_.exploratory);
  }

  const record::RunRecord& run_;
  Options options_;
  std::optional<AnalysisRules> version_;
  Measure measure_;
  Rule rule_;
  LookPlan looks_;
  std::vector<const record::Pass*> passes_;
  std::vector<std::vector<Note>> workload_notes_;
  Analysis out_;
};

}  // namespace

Analysis analyze(const record::RunRecord& run, const Options& options) {
  return Analyser(run, options).take();
}

}  // namespace abba::stats
