// False positives, coverage and power on seeded noise: luck of each process plus AR(1) requests.
// The canary is the analysis people reach for first, Welch's test on pooled requests: it must fail
// the very check that the primary passes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "harness/stats/analyze.h"
#include "harness/stats/distributions.h"
#include "harness/stats/estimators.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::RunRecord;
using record::Verdict;

constexpr int kRuns = 600;
constexpr double kNominal = 0.05;

// The check: at a nominal 5 % at most 7 % of the runs without an effect may be called different.
bool keeps_its_level(double false_positives) {
  return false_positives <= 0.07;
}

synthetic::Spec noisy(std::uint64_t seed, double effect) {
  synthetic::Spec spec;
  spec.passes = 8;
  spec.looks = {8};
  spec.blocks = 2;
  spec.requests = 15;
  spec.warmup = 1;
  spec.workloads = {"w"};
  spec.ar1 = 0.8;
  spec.seed = seed;
  spec.effect = effect;
  return spec;
}

// Welch's two-sample t on the logs of all measured requests of a run.
double pooled_welch_p(const RunRecord& run) {
  std::vector<double> logs[2];
  for (const auto& pass : run.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        for (const auto& sample : slot.samples) {
          if (!sample.warmup) {
            logs[slot.arm == "B" ? 1 : 0].push_back(
                std::log(static_cast<double>(sample.duration_ns)));
          }
        }
      }
    }
  }
  double error[2];
  double df_terms = 0;
  for (int arm = 0; arm < 2; ++arm) {
    const double sd = standard_deviation(logs[arm]);
    const auto n = static_cast<double>(logs[arm].size());
    error[arm] = sd * sd / n;
    df_terms += error[arm] * error[arm] / (n - 1);
  }
  const double variance = error[0] + error[1];
  const double t = (mean(logs[1]) - mean(logs[0])) / std::sqrt(variance);
  return student_two_sided_p(t, variance * variance / df_terms);
}

TEST(Simulation, the_primary_keeps_its_level_and_pooled_welch_does_not) {
  int primary = 0;
  int pooled = 0;
  int verdicts = 0;
  for (int i = 0; i < kRuns; ++i) {
    const RunRecord run = synthetic::make_run(noisy(static_cast<std::uint64_t>(i) + 1, 0));
    const Verdict v = analyze(run).verdicts[0];
    ASSERT_GE(v.p_difference, 0);
    primary += v.p_difference <= kNominal ? 1 : 0;
    pooled += pooled_welch_p(run) <= kNominal ? 1 : 0;
    verdicts += v.word == record::Word::kImproved || v.word == record::Word::kRegressed ? 1 : 0;
  }
  RecordProperty("primary_false_positives", primary);
  RecordProperty("pooled_false_positives", pooled);
  EXPECT_TRUE(keeps_its_level(primary / double(kRuns))) << primary << " of " << kRuns;
  EXPECT_GE(primary, kRuns / 50);  // a test that never fires keeps its level too
  EXPECT_LE(verdicts, primary);
  EXPECT_FALSE(keeps_its_level(pooled / double(kRuns))) << "the canary sings: " << pooled;
}

TEST(Simulation, intervals_cover_the_true_effect_and_real_effects_are_found) {
  constexpr int kFewer = 300;
  const double effect = -0.01;
  int covered = 0;
  int found = 0;
  for (int i = 0; i < kFewer; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 10'001;
    const Verdict v = analyze(synthetic::make_run(noisy(seed, effect))).verdicts[0];
    const double truth = std::expm1(effect);
    covered += v.plain95.low <= truth && truth <= v.plain95.high ? 1 : 0;
    found += v.word == record::Word::kImproved ? 1 : 0;
  }
  EXPECT_GE(covered, static_cast<int>(0.92 * kFewer));
  EXPECT_LE(covered, static_cast<int>(0.98 * kFewer));
  EXPECT_GE(found, static_cast<int>(0.9 * kFewer));  // about 2 pass-sd
}

// Two looks at half the level each: stopping early must not inflate the error.
TEST(Simulation, looking_twice_keeps_the_level) {
  int wrong = 0;
  for (int i = 0; i < kRuns; ++i) {
    synthetic::Spec spec = noisy(static_cast<std::uint64_t>(i) + 20'001, 0);
    spec.passes = 12;
    spec.looks = {6, 12};
    spec.harm_limit.reset();
    RunRecord run = synthetic::make_run(spec);
    RunRecord early = run;
    early.passes.resize(6);
    const auto word = analyze(stop_at_look(early) ? early : run).verdicts[0].word;
    wrong += word == record::Word::kImproved || word == record::Word::kRegressed ? 1 : 0;
  }
  EXPECT_TRUE(keeps_its_level(wrong / double(kRuns))) << wrong << " of " << kRuns;
}

}  // namespace
}  // namespace abba::stats
