#include "harness/stats/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "harness/stats/estimators.h"
#include "harness/stats/intervals.h"
#include "harness/stats/power.h"
#include "harness/stats/wording.h"

namespace abba::stats {
namespace {

using record::Criterion;
using record::Interval;
using record::Verdict;
using record::Word;

constexpr double kSensitivityP = 0.10;

// -1 = the good direction, +1 = the bad one, 0 = the interval holds zero.
int direction(const Rule& rule, const Interval& interval) {
  if (!interval.estimable() || (interval.low <= 0 && interval.high >= 0)) {
    return 0;
  }
  const bool less = interval.high < 0;
  return less != rule.higher_is_better ? -1 : 1;
}

Interval student_fraction(const Verdict& verdict, double level) {
  return to_fraction(student_interval(verdict.pass_effects, level));
}

// Log bounds of (-M, +M).
std::pair<double, double> margin_log(double margin) {
  return {std::log1p(-margin), std::log1p(margin)};
}

bool inside(const Interval& interval, double margin) {
  return interval.low > -margin && interval.high < margin;
}

// All of the interval lies beyond `least` in the good (or, if `good` is false, bad) direction.
bool beyond(const Rule& rule, const Interval& interval, double least, bool good) {
  const bool less = good != rule.higher_is_better;
  return less ? interval.high < -least : interval.low > least;
}

std::string deciding_text(const Interval& interval) {
  return fmt::format("{} interval {}", level_text(interval.level), interval_text(interval));
}

void say_direction(const Rule& rule, bool good, Verdict& verdict) {
  verdict.word = good ? Word::kImproved : Word::kRegressed;
  const bool less = verdict.deciding.high < 0;
  std::string text = fmt::format("B {} {} than A", rule.higher_is_better ? "gives" : "takes",
                                 less ? "less" : "more");
  if (rule.at_least > 0 && good) {
    text += beyond(rule, verdict.deciding, rule.at_least, good)
                ? ", by at least " + percent(rule.at_least).substr(1)
                : "; a gain of at least " + percent(rule.at_least).substr(1) + " is not shown";
  } else if (rule.margin && beyond(rule, verdict.deciding, *rule.margin, good)) {
    text += ", by at least the harm limit of " + percent(*rule.margin).substr(1);
  }
  if (rule.margin && inside(verdict.deciding, *rule.margin)) {
    text += "; the change is below the harm limit of " + percent(*rule.margin).substr(1);
  }
  verdict.reason = text + " (" + deciding_text(verdict.deciding) + ")";
}

bool try_direction(const Rule& rule, const HolmRow& row, Verdict& verdict) {
  const Interval interval = student_fraction(verdict, 1 - row.alpha);
  const int side = row.rejected ? direction(rule, interval) : 0;
  if (side == 0) {
    return false;
  }
  verdict.deciding = interval;
  if (!verdict.sensitivity_agrees) {
    verdict.word = Word::kInconclusive;
    verdict.reason = fmt::format(
        "the primary interval excludes zero, but a sensitivity analysis disagrees "
        "(Hodges-Lehmann {}, signed rank p {:.3f}, sign flip p {:.3f}); {}",
        percent(verdict.hodges_lehmann, half_width(interval)), verdict.signed_rank_p,
        verdict.sign_flip_p, deciding_text(interval));
    return true;
  }
  say_direction(rule, side < 0, verdict);
  return true;
}

bool try_equivalence(const Rule& rule, const HolmRow& row, const HolmRow& difference,
                     Verdict& verdict) {
  if (!rule.margin || !rule.may_say_equivalent || !row.rejected) {
    return false;
  }
  if (std::fabs(verdict.hodges_lehmann) >= *rule.margin) {
    return false;  // the robust estimate lies outside what is to be shown
  }
  verdict.deciding = student_fraction(verdict, 1 - 2 * row.alpha);
  verdict.word = Word::kEquivalent;
  const bool real =
      difference.rejected && direction(rule, student_fraction(verdict, 1 - difference.alpha)) != 0;
  verdict.reason = fmt::format(
      "the effect lies within the harm limit of {}{} ({})", percent(*rule.margin).substr(1),
      real ? fmt::format("; small but real: B {} {}", rule.higher_is_better ? "gives" : "takes",
                         verdict.effect < 0 ? "less" : "more")
           : "",
      deciding_text(verdict.deciding));
  return true;
}

// Fewest passes after which direction, or equivalence around the estimate, would probably show.
int passes_to_settle(const Rule& rule, double alpha, const Verdict& verdict) {
  const double effect = std::fabs(std::log1p(verdict.effect));
  int needed = passes_for_difference(effect, verdict.pass_sd, alpha);
  if (rule.margin && rule.may_say_equivalent) {
    const double room = margin_log(*rule.margin).second - effect;
    const int equivalence = passes_for_equivalence(room, verdict.pass_sd, alpha);
    needed = equivalence > 0 && (needed < 0 || equivalence < needed) ? equivalence : needed;
  }
  return needed < 0 ? needed : std::max(needed, verdict.passes + 1);
}

void say_inconclusive(const Rule& rule, const HolmRow& difference, Verdict& verdict) {
  verdict.word = Word::kInconclusive;
  verdict.deciding = student_fraction(verdict, 1 - difference.alpha);
  verdict.reason = fmt::format("neither a direction{} is shown ({})",
                               rule.margin && rule.may_say_equivalent ? " nor equivalence" : "",
                               deciding_text(verdict.deciding));
  if (!(rule.margin && rule.may_say_equivalent)) {
    verdict.reason = "no direction is shown (" + deciding_text(verdict.deciding) + ")";
  }
}

}  // namespace

bool estimate(const Rule& rule, Verdict& verdict) {
  const std::vector<double>& effects = verdict.pass_effects;
  const double centre = mean(effects);
  verdict.effect = std::expm1(centre);
  verdict.pass_sd = standard_deviation(effects);
  const double hl = hodges_lehmann(effects);
  verdict.hodges_lehmann = std::expm1(hl);
  const auto [low, high] = std::minmax_element(effects.begin(), effects.end());
  if (!(verdict.pass_sd > 0) || *low == *high) {
    return false;
  }
  verdict.plain95 = student_fraction(verdict, 0.95);
  verdict.p_difference = student_p(effects);
  if (rule.margin) {
    const auto [below, above] = margin_log(*rule.margin);
    verdict.p_equivalence = tost_p(effects, below, above);
  }
  verdict.signed_rank = to_fraction(signed_rank_interval(effects, 0.95));
  verdict.signed_rank_p = signed_rank_p(effects);
  verdict.sign_flip_p = sign_flip_p(effects);
  verdict.sensitivity_agrees = hl * centre > 0 && verdict.signed_rank_p <= kSensitivityP &&
                               verdict.sign_flip_p <= kSensitivityP;
  return true;
}

void judge(const Rule& rule, const HolmRow& difference, const HolmRow& equivalence,
           Verdict& verdict) {
  const bool direction_first = rule.claim == record::Claim::kFaster;
  const bool decided = direction_first ? try_direction(rule, difference, verdict) ||
                                             try_equivalence(rule, equivalence, difference, verdict)
                                       : try_equivalence(rule, equivalence, difference, verdict) ||
                                             try_direction(rule, difference, verdict);
  if (!decided) {
    say_inconclusive(rule, difference, verdict);
  }
  // Only a claim of direction can be contradicted by the sensitivity analyses.
  const bool directional = difference.rejected;
  verdict.sensitivity_agrees = verdict.sensitivity_agrees || !directional;
  if (verdict.word == Word::kInconclusive) {
    verdict.passes_needed = passes_to_settle(rule, difference.alpha, verdict);
  }
}

Word exploratory_word(Word word) {
  switch (word) {
    case Word::kImproved:
      return Word::kFaster;
    case Word::kRegressed:
      return Word::kSlower;
    case Word::kEquivalent:
    case Word::kInconclusive:
      return Word::kNoDifferenceSeen;
    default:
      return word;
  }
}

Criterion meets_claim(const Rule& rule, double alpha, const Verdict& verdict) {
  if (verdict.word == Word::kInvalid) {
    return Criterion::kUndecided;
  }
  const Interval two_sided = student_fraction(verdict, 1 - alpha);
  const int side = direction(rule, two_sided);
  const bool sound = verdict.sensitivity_agrees;
  if (rule.claim == record::Claim::kFaster) {
    if (side < 0 && sound && beyond(rule, two_sided, rule.at_least, true)) {
      return Criterion::kMet;
    }
    const bool too_small =
        rule.higher_is_better ? two_sided.high < rule.at_least : two_sided.low > -rule.at_least;
    return (side > 0 && sound) || (rule.at_least > 0 && too_small) ? Criterion::kNotMet
                                                                   : Criterion::kUndecided;
  }
  if (!rule.margin) {
    return Criterion::kUndecided;
  }
  const double margin = *rule.margin;
  if (rule.claim == record::Claim::kNotWorse) {
    const Interval one_sided = student_fraction(verdict, 1 - 2 * alpha);
    const bool ruled_out =
        rule.higher_is_better ? one_sided.low > -margin : one_sided.high < margin;
    return ruled_out ? Criterion::kMet
                     : (beyond(rule, two_sided, margin, false) ? Criterion::kNotMet
                                                               : Criterion::kUndecided);
  }
  if (verdict.p_equivalence >= 0 && verdict.p_equivalence <= alpha) {
    return Criterion::kMet;
  }
  const bool out = two_sided.low > margin || two_sided.high < -margin;
  return out ? Criterion::kNotMet : Criterion::kUndecided;
}

int judge_disjoint(Verdict& verdict) {
  double low[2] = {INFINITY, INFINITY};
  double high[2] = {-INFINITY, -INFINITY};
  for (const record::ArmSummary& summary : verdict.summaries) {
    if (summary.pass >= 0) {
      const int arm = summary.arm == "B" ? 1 : 0;
      low[arm] = std::min(low[arm], summary.mean);
      high[arm] = std::max(high[arm], summary.mean);
    }
  }
  const bool b_below = high[1] < low[0];
  const bool b_above = low[1] > high[0];
  verdict.word = b_below || b_above ? Word::kDisjointMet : Word::kDisjointNotMet;
  const bool time = verdict.metric == "latency";
  const auto range = [&](int arm) {
    const double unit = time ? 1e6 : 1;
    return fmt::format("{:.6g} to {:.6g}{}", low[arm] / unit, high[arm] / unit, time ? " ms" : "");
  };
  verdict.reason = fmt::format("pass means of A: {}, of B: {}; the ranges {}", range(0), range(1),
                               b_below   ? "are disjoint, B lies below"
                               : b_above ? "are disjoint, B lies above"
                                         : "overlap");
  return b_below ? -1 : b_above ? 1 : 0;
}

}  // namespace abba::stats
