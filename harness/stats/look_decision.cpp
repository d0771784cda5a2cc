// The registered stopping rule, asked after each measured pass.
#include <fmt/format.h>

#include <algorithm>

#include "harness/stats/analyze.h"
#include "harness/stats/family.h"
#include "harness/stats/measured.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::Verdict;
using record::Word;

// Words that end a run before its last look.
class EarlyWords {
 public:
  explicit EarlyWords(const record::RunRecord& run)
      : equivalent_(run.manifest.success.claim != record::Claim::kFaster ||
                    rules_of(run).value_or(AnalysisRules{}).equivalence_ends_a_claimed_gain_early) {
  }

  [[nodiscard]] bool decide(Word word) const {
    return word == Word::kImproved || word == Word::kRegressed || word == Word::kFaster ||
           word == Word::kSlower || (word == Word::kEquivalent && equivalent_);
  }

 private:
  bool equivalent_;
};

}  // namespace

int complete_passes(const record::RunRecord& run) {
  return static_cast<int>(counted_passes(run).size());
}

LookDecision decide_at_look(const record::RunRecord& run, const Options& options) {
  const LookPlan plan = look_plan(run);
  LookDecision decision;
  decision.passes = complete_passes(run);
  decision.last_look = decision.passes >= plan.looks.back();
  decision.is_look =
      std::find(plan.looks.begin(), plan.looks.end(), decision.passes) != plan.looks.end();
  if (decision.last_look) {
    decision.stop = true;
    decision.why = fmt::format("all {} passes are done", plan.looks.back());
    return decision;
  }
  if (!decision.is_look || judged_by_disjoint_means(run)) {
    decision.why = fmt::format("{} passes is no look of the plan", decision.passes);
    return decision;
  }
  Options words_only = options;
  words_only.describes_requests = false;
  const Analysis analysis = analyze(run, words_only);
  const EarlyWords words(run);
  int open = 0;
  for (const Verdict& verdict : analysis.verdicts) {
    open += verdict.primary && !words.decide(verdict.word) ? 1 : 0;
  }
  decision.stop = open == 0 && !analysis.verdicts.empty();
  decision.why = decision.stop ? fmt::format("look at {} passes: every primary workload is decided",
                                             decision.passes)
                               : fmt::format("look at {} passes: {} primary workload{} not decided",
                                             decision.passes, open, open == 1 ? "" : "s");
  return decision;
}

bool stop_at_look(const record::RunRecord& run, const Options& options) {
  return decide_at_look(run, options).stop;
}

}  // namespace abba::stats
