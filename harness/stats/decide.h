// The verdict rule: from the pass values and the levels of this look and family to one word. The
// order of the tests follows the claim: `faster` asks for direction first, `not_worse` and
// `equivalent` ask for equivalence first.
#pragma once

#include <optional>
#include <vector>

#include "harness/record/manifest.h"
#include "harness/record/verdict.h"
#include "harness/stats/family.h"

namespace abba::stats {

struct Rule {
  record::Claim claim = record::Claim::kFaster;
  std::optional<double> margin;  // M, a fraction in (0, 1)
  double at_least = 0;
  bool higher_is_better = false;
  bool may_say_equivalent = true;  // not under `quick`, nor exploratory
};

// Fills effect, sensitivity, pass_sd, p_difference and p_equivalence of a workload whose data are
// sound; `verdict.pass_effects` holds at least two values. false if they do not vary (N007).
[[nodiscard]] bool estimate(const Rule& rule, record::Verdict& verdict);

// Word, reason and the interval at the level that decided, in the five words; needs estimate().
void judge(const Rule& rule, const HolmRow& difference, const HolmRow& equivalence,
           record::Verdict& verdict);

// faster / slower / no difference seen for plans and runs that may not say more.
[[nodiscard]] record::Word exploratory_word(record::Word word);

// Whether one workload, at the uncorrected level `alpha` of the look, meets the claim.
[[nodiscard]] record::Criterion meets_claim(const Rule& rule, double alpha,
                                            const record::Verdict& verdict);

// The seeds' rule: the ranges of the pass means of A and B are disjoint. Fills word and reason from
// verdict.summaries; needs both arms in at least two passes. -1 if B's range lies below A's, 1 if
// it lies above, 0 if they overlap.
int judge_disjoint(record::Verdict& verdict);

}  // namespace abba::stats
