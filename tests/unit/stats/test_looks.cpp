// What the registered stopping rule says at a look, and between looks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::RunRecord;
using record::Word;
using synthetic::make_run;
using synthetic::Spec;

bool has_note(const Analysis& analysis, const std::string& code) {
  return std::any_of(analysis.notes.begin(), analysis.notes.end(),
                     [&](const auto& note) { return note.code == code; });
}

Spec with_effect(double effect) {
  Spec spec;
  spec.effect = effect;
  return spec;
}

void truncate(RunRecord& run, std::size_t passes) {
  run.passes.resize(passes);
}

TEST(Looks, an_early_decision_stops_the_run_and_says_that_it_is_too_large) {
  RunRecord run = make_run(with_effect(-0.05));
  truncate(run, 5);
  EXPECT_FALSE(stop_at_look(run));
  run = make_run(with_effect(-0.05));
  truncate(run, 6);
  const LookDecision decision = decide_at_look(run);
  EXPECT_TRUE(decision.stop && decision.is_look && !decision.last_look) << decision.why;
  const Analysis analysis = analyze(run);
  EXPECT_TRUE(analysis.stopped_early);
  EXPECT_TRUE(has_note(analysis, "N018"));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
}

TEST(Looks, one_open_primary_workload_keeps_the_run_going_a_secondary_one_does_not) {
  Spec spec = with_effect(-0.05);
  spec.harm_limit.reset();
  RunRecord run = make_run(spec);
  truncate(run, 6);
  Spec null = spec;
  null.effect = 0;
  RunRecord other = make_run(null);
  for (std::size_t p = 0; p < run.passes.size(); ++p) {
    for (std::size_t b = 0; b < run.passes[p].blocks.size(); ++b) {
      if (run.passes[p].blocks[b].workload == "large") {
        run.passes[p].blocks[b] = other.passes[p].blocks[b];
      }
    }
  }
  EXPECT_FALSE(stop_at_look(run));
  run.manifest.success.primary = {"small"};
  EXPECT_TRUE(stop_at_look(run));
}

TEST(Looks, between_looks_and_below_six_passes_nothing_is_concluded) {
  RunRecord run = make_run(with_effect(-0.05));
  truncate(run, 8);
  Analysis analysis = analyze(run);
  EXPECT_EQ(analysis.verdicts[0].word, Word::kInvalid);
  EXPECT_TRUE(has_note(analysis, "N002"));
  truncate(run, 5);
  analysis = analyze(run);
  EXPECT_EQ(analysis.verdicts[0].word, Word::kInvalid);
  EXPECT_TRUE(has_note(analysis, "N001"));
  EXPECT_FALSE(analysis.verdicts[0].deciding.estimable());
  EXPECT_LT(analysis.verdicts[0].p_difference, 0);
}

}  // namespace
}  // namespace abba::stats
