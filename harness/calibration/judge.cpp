#include "harness/calibration/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "harness/calibration/pass_pool.h"
#include "harness/stats/analyze.h"
#include "harness/stats/estimators.h"
#include "harness/stats/measured.h"
#include "harness/stats/notes.h"

namespace abba::calibration {
namespace {

using record::Claim;
using record::RunRecord;
using record::Word;

// The statistics page: 4 to 16 misses in 200, at most 7 false directions in 59.
constexpr int kFewestMisses = 4;
constexpr int kMostMisses = 16;
constexpr int kMostFalseDirections = 7;
constexpr double kClockDrop = 0.05;

// The run as it was after its first `count` passes that count.
RunRecord first_passes(const RunRecord& run, int count) {
  RunRecord cut = run;
  cut.passes.clear();
  for (const record::Pass* pass : stats::counted_passes(run)) {
    if (static_cast<int>(cut.passes.size()) < count) {
      cut.passes.push_back(*pass);
    }
  }
  return cut;
}

const record::Verdict& primary(const record::Analysis& analysis) {
  ABBA_CHECK(!analysis.verdicts.empty());
  const auto found = std::find_if(analysis.verdicts.begin(), analysis.verdicts.end(),
                                  [](const auto& verdict) { return verdict.primary; });
  return found == analysis.verdicts.end() ? analysis.verdicts.front() : *found;
}

bool misses_zero(const record::Interval& interval) {
  return interval.estimable() && (interval.low > 0 || interval.high < 0);
}

// Everything that is counted on the A/A series by relabelling.
class EqualRuns {
 public:
  EqualRuns(const StoredSeries& stored, std::vector<int> looks)
      : stored_(stored), looks_(std::move(looks)), pool_(stored.runs), passes_(looks_.back()) {}

  void count(Result& result) {
    intervals(result);
    verdicts(result, pool_, "", 0, kMostFalseDirections);
    law(result);
    clock_drop(result);
  }

  // Improved or regressed in kVerdicts runs drawn from `pool`, under both claims.
  void verdicts(Result& result, const PassPool& pool, const std::string& suffix,
                int most_equivalent, int most_faster) const {
    for (const Claim claim : {Claim::kEquivalent, Claim::kFaster}) {
      const bool equivalent = claim == Claim::kEquivalent;
      Check check{(equivalent ? "verdicts-equivalent" : "verdicts-faster") + suffix,
                  fmt::format("drawn A/A runs said improved or regressed, claim {}, law off",
                              equivalent ? "equivalent" : "faster"),
                  directional(pool, claim, false),
                  kVerdicts,
                  0,
                  equivalent ? most_equivalent : most_faster};
      result.checks.push_back(std::move(check));
    }
  }

  [[nodiscard]] int directional(const PassPool& pool, Claim claim, bool law) const {
    base::Random random(kSeed);
    int count = 0;
    for (int i = 0; i < kVerdicts; ++i) {
      count += judge_at_looks(pool.drawn(passes_, random), looks_, claim, law).directional();
    }
    return count;
  }

 private:
  void intervals(Result& result) {
    base::Random random(kSeed);
    Check check{"intervals",
                "relabelled A/A runs had a plain 95 % interval without zero, law off",
                0,
                kIntervals,
                kFewestMisses,
                kMostMisses};
    for (int i = 0; i < kIntervals; ++i) {
      const auto run = pool_.relabelled(static_cast<std::size_t>(i) % pool_.runs(), random);
      const auto all = static_cast<int>(run.passes.size());
      check.count += misses_zero(judge_at_looks(run, {all}, Claim::kFaster, false).plain95);
    }
    result.checks.push_back(check);
  }

  void law(Result& result) const {
    base::Random random(kSeed);
    Check claims{"law", "drawn A/A runs said improved or regressed, law on", 0, kVerdicts, 0, 0};
    Check seen{
        "law-applies", "drawn A/A runs were recognised as equal arms", 0, kVerdicts, kVerdicts,
        kVerdicts};
    for (int i = 0; i < kVerdicts; ++i) {
      const auto judged =
          judge_at_looks(pool_.drawn(passes_, random), looks_, Claim::kFaster, true);
      claims.count += judged.directional();
      seen.count += judged.same_hash;
    }
    result.checks.push_back(claims);
    result.checks.push_back(seen);
  }

  // A clock that falls in one arm is an outside cause: invalid, and only then.
  void clock_drop(Result& result) const {
    const int runs = static_cast<int>(stored_.runs.size());
    Check fallen{"clock-drop",
                 "A/A runs with a clock faked 5 % lower in B were called invalid",
                 0,
                 runs,
                 runs,
                 runs};
    Check steady{"clock-steady",
                 "the same with equal clocks were called invalid for the clock",
                 0,
                 runs,
                 0,
                 0};
    const std::string reason = std::string(stats::kExposureDiffers) + ": SM clock";
    const auto invalid_for_clock = [&](const RunRecord& run, double fraction) {
      const auto judged =
          judge_at_looks(with_clock_drop(run, 'B', fraction), looks_, Claim::kEquivalent, false);
      return judged.word == Word::kInvalid && judged.reason.starts_with(reason);
    };
    for (const RunRecord& run : stored_.runs) {
      fallen.count += invalid_for_clock(run, kClockDrop);
      steady.count += invalid_for_clock(run, 0);
    }
    result.checks.push_back(fallen);
    result.checks.push_back(steady);
  }

  const StoredSeries& stored_;
  std::vector<int> looks_;
  PassPool pool_;
  std::size_t passes_;
};

SeriesResult summarize(const StoredSeries& stored, const std::vector<int>& looks) {
  const Series& series = stored.series;
  const bool known = series.role == Role::kKnownEffect;
  SeriesResult result;
  result.name = series.name;
  result.what = series.what;
  result.effect = series.effect;
  result.wanted = series.runs;
  result.runs = static_cast<int>(stored.runs.size());
  double squares = 0;
  for (const RunRecord& run : stored.runs) {
    const auto judged =
        judge_at_looks(run, looks, known ? Claim::kFaster : Claim::kEquivalent, false);
    result.found += judged.word == Word::kRegressed;
    result.opposite += judged.word == Word::kImproved;
    result.invalid += judged.word == Word::kInvalid;
    result.covered += judged.plain95.estimable() && judged.plain95.low <= series.effect &&
                      judged.plain95.high >= series.effect;
    result.estimate += judged.effect / std::max(1, result.runs);
    squares += judged.pass_sd * judged.pass_sd;
  }
  result.pass_sd = std::sqrt(squares / std::max(1, result.runs));
  return result;
}

void check_series(const StoredSeries& stored, const SeriesResult& seen, const EqualRuns& equal,
                  Result& result) {
  const Series& series = stored.series;
  if (stored.runs.empty() && series.share_found == 0) {
    return;
  }
  if (series.role == Role::kAveragesOut) {
    result.checks.push_back({series.name, "runs said improved or regressed (" + series.what + ")",
                             seen.found + seen.opposite, seen.runs, 0, 0});
  } else if (series.role == Role::kHiddenDelay) {
    const int broken = equal.directional(PassPool(stored.runs), Claim::kEquivalent, false);
    result.checks.push_back({series.name,
                             "drawn runs with a hidden delay said improved or regressed: the test "
                             "of false verdicts can fail",
                             broken, kVerdicts, 1, kVerdicts});
  } else if (series.share_found > 0) {
    // At least one: what was never run was not found.
    const int least = std::max(1, static_cast<int>(std::ceil(series.share_found * seen.runs)));
    result.checks.push_back({series.name, "runs found it (" + series.what + ")", seen.found,
                             seen.runs, least, std::max(least, seen.runs)});
  }
}

}  // namespace

Judged judge_at_looks(RunRecord run, const std::vector<int>& looks, Claim claim, bool law) {
  const int passes = stats::complete_passes(run);
  std::vector<int> reached;
  std::copy_if(looks.begin(), looks.end(), std::back_inserter(reached),
               [&](int look) { return look <= passes; });
  if (reached.empty()) {
    reached = {passes};
  }
  run.exploratory = false;
  run.analysis_version.clear();  // a calibration is of the harness as it is now
  run.state = record::RunState::kFinished;
  run.manifest.success.claim = claim;
  // Levels are shared as planned, also if the run ended at an early look.
  run.plan.looks = run.manifest.protocol.looks =
      reached.front() == passes && looks.front() > passes ? reached : looks;
  const stats::Options options{.same_hash_law = law, .describes_requests = false};
  Judged judged;
  for (const int look : reached) {
    const RunRecord cut = first_passes(run, look);
    if (look != reached.back() && !stats::stop_at_look(cut, options)) {
      continue;
    }
    const record::Analysis analysis = stats::analyze(cut, options);
    const record::Verdict& verdict = primary(analysis);
    return {verdict.word,    verdict.reason, verdict.effect,        verdict.pass_sd,
            verdict.plain95, verdict.passes, analysis.same_hash_law};
  }
  return judged;
}

bool Result::holds() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.holds(); });
}

const Check* Result::check(const std::string& name) const {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [&](const Check& c) { return c.name == name; });
  return found == checks.end() ? nullptr : &*found;
}

Result judge_all(const std::vector<StoredSeries>& stored, const std::vector<int>& looks,
                 double harm_limit) {
  ABBA_CHECK(!stored.empty() && !stored.front().runs.empty() && !looks.empty());
  Result result;
  result.harm_limit = harm_limit;
  EqualRuns equal(stored.front(), looks);
  equal.count(result);
  for (const StoredSeries& series : stored) {
    SeriesResult seen = summarize(series, looks);
    check_series(series, seen, equal, result);
    result.series.push_back(std::move(seen));
  }
  result.pass_sd = result.series.front().pass_sd;
  // With a narrower margin "equivalent" would be out of reach, and (b) would show nothing.
  const bool wide = std::log1p(harm_limit) >= 2 * result.pass_sd;
  result.checks.push_back({"harm-limit",
                           fmt::format("harm limit of {:.2f} % is at least two pass standard "
                                       "deviations ({:.2f} %)",
                                       100 * harm_limit, 200 * result.pass_sd),
                           wide ? 1 : 0, 1, 1, 1});
  return result;
}

}  // namespace abba::calibration
