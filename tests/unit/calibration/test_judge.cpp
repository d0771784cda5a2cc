// The counts of a calibration on runs whose truth is known.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "harness/calibration/judge.h"
#include "harness/calibration/pass_pool.h"
#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::calibration {
namespace {

constexpr double kHarmLimit = 0.02;
const std::vector<int> kLooks = {6, 12};

synthetic::Spec spec_of(double effect, std::uint64_t seed) {
  synthetic::Spec spec;
  spec.workloads = {"w"};
  spec.requests = 6;
  spec.warmup = 1;
  spec.effect = effect;
  spec.seed = seed;
  spec.equal_arms = true;
  spec.harm_limit = kHarmLimit;
  return spec;
}

std::vector<record::RunRecord> runs(double effect, int count, std::uint64_t seed) {
  std::vector<record::RunRecord> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(synthetic::make_run(spec_of(effect, seed + static_cast<std::uint64_t>(i))));
  }
  return all;
}

SeriesOptions options() {
  SeriesOptions with;
  with.harm_limit = kHarmLimit;
  with.runs = 10;
  return with;
}

// Every series of a plan, as if the injection had done what it says.
std::vector<StoredSeries> honest() {
  std::vector<StoredSeries> stored;
  std::uint64_t seed = 5000;
  for (const Series& series : all_series(options(), {1.5e6, 50})) {
    const double effect = series.role == Role::kAveragesOut ? 0 : series.effect;
    stored.push_back({series, runs(std::log1p(effect), series.runs, seed += 100)});
  }
  return stored;
}

TEST(Judge, an_honest_harness_holds) {
  const Result result = judge_all(honest(), kLooks, kHarmLimit);
  for (const Check& check : result.checks) {
    EXPECT_TRUE(check.holds()) << check.name << ": " << check.count << " of " << check.of;
  }
  EXPECT_TRUE(result.holds());
  ASSERT_NE(result.check("intervals"), nullptr);
  EXPECT_EQ(result.check("intervals")->of, 200);
  EXPECT_EQ(result.check("verdicts-equivalent")->of, 59);
  EXPECT_EQ(result.check("spin-2-percent")->least, 9);
  EXPECT_EQ(result.check("hidden-delay")->count, 59);
  EXPECT_EQ(result.series.size(), 9U);
  EXPECT_NEAR(result.series[1].estimate, 0.02, 0.003);
}

// 12 runs of 14 planned: 10.8 rounds up to 11. Rounded up on the way too (13 of 14), it was 12.
TEST(Judge, nine_tenths_of_the_runs_there_are_must_find_the_effect) {
  auto stored = honest();
  for (const auto& [planned, run, least] : {std::tuple(14, 12, 11), {20, 20, 18}, {8, 8, 8}}) {
    stored[1].series.runs = planned;
    stored[1].runs = runs(std::log1p(0.02), run, 5000);
    EXPECT_EQ(judge_all(stored, kLooks, kHarmLimit).check("spin-2-percent")->least, least);
  }
}

TEST(Judge, an_effect_that_was_never_run_was_not_found) {
  auto stored = honest();
  stored[1].runs.clear();
  EXPECT_FALSE(judge_all(stored, kLooks, kHarmLimit).holds());
}

TEST(Judge, a_difference_between_equal_arms_breaks_the_test_of_false_verdicts) {
  auto stored = honest();
  stored[0].runs = runs(0.03, 10, 900);
  const Result result = judge_all(stored, kLooks, kHarmLimit);
  EXPECT_FALSE(result.check("verdicts-equivalent")->holds());
  EXPECT_FALSE(result.check("verdicts-faster")->holds());
  EXPECT_FALSE(result.holds());
  EXPECT_TRUE(result.check("law")->holds()) << "the law still prints no claim";
}

TEST(Judge, a_canary_that_hides_nothing_fails) {
  auto stored = honest();
  stored.back().runs = runs(0, 2, 900);
  EXPECT_FALSE(judge_all(stored, kLooks, kHarmLimit).check("hidden-delay")->holds());
}

TEST(Judge, a_disturbance_that_does_not_average_out_is_seen) {
  auto stored = honest();
  ASSERT_EQ(stored[6].series.name, "one-position");
  stored[6].runs = runs(0.04, 2, 900);
  EXPECT_FALSE(judge_all(stored, kLooks, kHarmLimit).check("one-position")->holds());
}

TEST(Judge, effects_that_are_missed_fail) {
  auto stored = honest();
  stored[1].runs = runs(0, 10, 900);
  const Result result = judge_all(stored, kLooks, kHarmLimit);
  EXPECT_FALSE(result.check("spin-2-percent")->holds());
}

TEST(Judge, a_harm_limit_within_the_noise_is_refused) {
  auto stored = honest();
  const Result result = judge_all(stored, kLooks, 0.002);
  EXPECT_FALSE(result.check("harm-limit")->holds());
}

TEST(Judge, equal_arms_that_the_law_does_not_recognise_fail) {
  auto stored = honest();
  for (auto& run : stored[0].runs) {
    run.bindings[1].value = std::string(64, 'b');
  }
  EXPECT_FALSE(judge_all(stored, kLooks, kHarmLimit).check("law-applies")->holds());
}

TEST(Judge, the_first_look_that_decides_gives_the_verdict) {
  const auto run = synthetic::make_run(spec_of(0.05, 1));
  const auto judged = judge_at_looks(run, kLooks, record::Claim::kFaster, false);
  EXPECT_EQ(judged.word, record::Word::kRegressed);
  EXPECT_EQ(judged.passes, 6);
  auto noisy = spec_of(0, 1);
  noisy.process_sd = 0.05;
  const auto open =
      judge_at_looks(synthetic::make_run(noisy), kLooks, record::Claim::kFaster, false);
  EXPECT_EQ(open.word, record::Word::kInconclusive);
  EXPECT_EQ(open.passes, 12);
}

TEST(Judge, a_run_that_stopped_at_its_first_look_is_judged_at_that_look) {
  auto spec = spec_of(0.05, 1);
  spec.passes = 6;
  const auto judged =
      judge_at_looks(synthetic::make_run(spec), kLooks, record::Claim::kFaster, false);
  EXPECT_EQ(judged.word, record::Word::kRegressed);
}

TEST(Judge, a_clock_that_falls_in_one_arm_makes_invalid) {
  const auto run = synthetic::make_run(spec_of(0, 1));
  const auto fallen =
      judge_at_looks(with_clock_drop(run, 'B', 0.05), kLooks, record::Claim::kFaster, false);
  EXPECT_EQ(fallen.word, record::Word::kInvalid);
  EXPECT_EQ(fallen.reason.rfind("N025", 0), 0U) << fallen.reason;
  const auto steady =
      judge_at_looks(with_clock_drop(run, 'B', 0), kLooks, record::Claim::kFaster, false);
  EXPECT_NE(steady.word, record::Word::kInvalid);
}

}  // namespace
}  // namespace abba::calibration
