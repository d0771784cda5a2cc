// A run keeps the version of the analysis that it names; and what version 2 added.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/stats/analyze.h"
#include "harness/stats/negative_controls.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::RunRecord;
using record::Word;

RunRecord run_of_version(const std::string& version, synthetic::Spec spec = {}) {
  RunRecord run = synthetic::make_run(spec);
  run.analysis_version = version;
  return run;
}

bool has_note(const Analysis& analysis, const std::string& code) {
  return std::any_of(analysis.notes.begin(), analysis.notes.end(),
                     [&](const auto& note) { return note.code == code; });
}

TEST(Versions, a_run_keeps_the_one_it_names) {
  EXPECT_EQ(analyze(run_of_version("")).version, kAnalysisVersion);
  for (const std::string version :
       {"abba.analysis/1", "abba.analysis/2", "abba.analysis/3", "abba.analysis/4"}) {
    const Analysis analysis = analyze(run_of_version(version));
    EXPECT_EQ(analysis.version, version);
    EXPECT_FALSE(has_note(analysis, "N038"));
  }
}

// B is faster but for one request in five, which is three times as slow.
RunRecord with_slow_requests(const std::string& version) {
  synthetic::Spec spec;
  spec.preset = record::Preset::kTwoPass;
  spec.order = record::Order::kAbBa;
  spec.passes = 2;
  spec.blocks = 1;
  spec.effect = -0.05;
  spec.claim = record::Claim::kDisjointPassMeans;
  RunRecord run = run_of_version(version, spec);
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        for (std::size_t i = 0; slot.arm == "B" && i < slot.samples.size(); i += 5) {
          slot.samples[i].duration_ns *= 3;
        }
      }
    }
  }
  return run;
}

TEST(Versions, the_third_says_where_means_and_medians_part) {
  const Analysis third = analyze(with_slow_requests("abba.analysis/3"));
  ASSERT_FALSE(third.verdicts.empty());
  EXPECT_EQ(third.verdicts[0].word, Word::kDisjointMet);
  EXPECT_NE(third.verdicts[0].reason.find("B lies above"), std::string::npos);
  EXPECT_LT(third.verdicts[0].effect, 0);
  EXPECT_TRUE(has_note(third, "N044"));
  EXPECT_FALSE(has_note(analyze(with_slow_requests("abba.analysis/2")), "N044"));
  synthetic::Spec plain;
  plain.preset = record::Preset::kTwoPass;
  plain.passes = 2;
  EXPECT_FALSE(has_note(analyze(run_of_version("abba.analysis/3", plain)), "N044"));
}

// Equal programs are equivalent within 2 % after six passes. Under claim `faster` that must not end
// the run: a gain of half a per cent would be equivalent there too, and be seen after twelve.
TEST(Versions, the_fourth_ends_a_claimed_gain_early_for_a_direction_only) {
  const auto stops = [](const std::string& version, record::Claim claim, double effect) {
    RunRecord run = run_of_version(version, {.effect = effect, .claim = claim});
    run.passes.resize(6);
    return stop_at_look(run);
  };
  for (const double slightly : {0.0, -0.003}) {
    EXPECT_TRUE(stops("abba.analysis/3", record::Claim::kFaster, slightly));
    EXPECT_FALSE(stops("abba.analysis/4", record::Claim::kFaster, slightly));
    EXPECT_TRUE(stops("abba.analysis/4", record::Claim::kEquivalent, slightly));
    EXPECT_TRUE(stops("abba.analysis/4", record::Claim::kNotWorse, slightly));
  }
  for (const double clearly : {-0.05, 0.05}) {
    EXPECT_TRUE(stops("abba.analysis/4", record::Claim::kFaster, clearly));
  }
}

TEST(Versions, an_unknown_one_is_invalid_and_says_so) {
  const Analysis analysis = analyze(run_of_version("abba.analysis/99"));
  EXPECT_EQ(analysis.version, "abba.analysis/99");
  EXPECT_TRUE(has_note(analysis, "N038"));
  ASSERT_FALSE(analysis.verdicts.empty());
  for (const auto& verdict : analysis.verdicts) {
    EXPECT_EQ(verdict.word, Word::kInvalid);
    EXPECT_EQ(verdict.reason.substr(0, 4), "N038");
    EXPECT_DOUBLE_EQ(verdict.p_difference, -1);
  }
  RunRecord run = run_of_version("", {.effect = -0.05});
  run.passes.resize(6);
  EXPECT_TRUE(stop_at_look(run));
  run.analysis_version = "abba.analysis/99";
  EXPECT_FALSE(stop_at_look(run)) << "what is not judged does not end a run early";
}

// Between 59 and 71 requests a p95 has a one-sided bound and no two-sided interval: version 1 kept
// silent there.
TEST(Versions, the_second_asks_72_requests_of_a_p95) {
  synthetic::Spec spec;
  spec.passes = 6;
  spec.looks = {6};
  spec.blocks = 1;
  spec.requests = 5;  // 60 of each arm
  EXPECT_FALSE(has_note(analyze(run_of_version("abba.analysis/1", spec)), "N030"));
  EXPECT_TRUE(has_note(analyze(run_of_version("abba.analysis/2", spec)), "N030"));
  spec.requests = 6;  // 72
  EXPECT_FALSE(has_note(analyze(run_of_version("abba.analysis/2", spec)), "N030"));
}

// Conditions are read in steps, so all passes can differ by exactly the same: no spread, and the
// surest difference there is. Version 1 saw it only if rounding gave it some spread.
TEST(Versions, the_second_judges_conditions_that_never_vary) {
  const auto with_company = [](const std::string& version, double of_b) {
    RunRecord run = run_of_version(version, {.effect = -0.05});
    for (const auto& pass : run.passes) {
      for (const auto& block : pass.blocks) {
        for (const auto& slot : block.slots) {
          const auto wall = static_cast<double>(slot.end_ns - slot.start_ns);
          run.environment.push_back({slot.id, slot.end_ns, "after", "foreign.cpu",
                                     slot.arm == "B" ? of_b * wall : 0.0, "ns", ""});
        }
      }
    }
    return analyze(run);
  };
  EXPECT_EQ(with_company("abba.analysis/2", 0.25).verdicts[0].word, Word::kInvalid);
  EXPECT_TRUE(has_note(with_company("abba.analysis/2", 0.25), "N025"));
  EXPECT_EQ(with_company("abba.analysis/2", 0).verdicts[0].word, Word::kImproved);
  EXPECT_EQ(with_company("abba.analysis/1", 0.25).verdicts[0].word, Word::kImproved);
}

// The readings of an interleaved block lie under the slot that began it. Versions 1 and 2 took them
// for that arm's own: blocks that A began were compared with blocks that B began, and where one arm
// began them all there seemed to be no reading.
TEST(Versions, the_third_knows_that_interleaved_arms_share_their_conditions) {
  synthetic::Spec spec;
  spec.order = record::Order::kInterleaved;
  spec.effect = -0.05;
  const auto read_under_the_first_slot = [&](const std::string& version, bool only_a) {
    RunRecord run = run_of_version(version, spec);
    for (const auto& pass : run.passes) {
      for (const auto& block : pass.blocks) {
        const char first = block.slot_order.front();
        const auto& slot = block.slots[first == 'A' || only_a ? 0 : 1];
        const auto wall = static_cast<double>(slot.end_ns - slot.start_ns);
        const double foreign = first == 'A' ? 0.3 : 0.01;  // busy when A began, by chance
        run.environment.push_back(
            {slot.id, slot.end_ns, "after", "foreign.cpu", foreign * wall, "ns", ""});
      }
    }
    return analyze(run);
  };
  EXPECT_EQ(read_under_the_first_slot("abba.analysis/2", false).verdicts[0].word, Word::kInvalid);
  EXPECT_TRUE(has_note(read_under_the_first_slot("abba.analysis/2", true), "N026"));
  for (const bool only_a : {false, true}) {
    const Analysis third = read_under_the_first_slot("abba.analysis/3", only_a);
    EXPECT_EQ(third.verdicts[0].word, Word::kImproved) << third.verdicts[0].reason;
    EXPECT_FALSE(has_note(third, "N025"));
    EXPECT_FALSE(has_note(third, "N026"));
    EXPECT_TRUE(has_note(third, "N043"));
  }
  EXPECT_TRUE(has_note(analyze(run_of_version("abba.analysis/3", spec)), "N026"))
      << "without any reading nothing was checked";
  EXPECT_FALSE(has_note(analyze(run_of_version("abba.analysis/3")), "N043"));
}

TEST(Versions, the_second_does_not_trust_a_clock_that_went_back) {
  for (const std::string version : {"abba.analysis/1", "abba.analysis/2"}) {
    RunRecord run = run_of_version(version);
    auto& slot = run.passes[3].blocks[0].slots[1];
    for (std::size_t i = 10; i < slot.samples.size(); ++i) {
      slot.samples[i].start_ns -= 3'600'000'000'000;  // an hour, in the middle of a slot
    }
    const auto verdict = analyze(run).verdicts[0];
    EXPECT_EQ(verdict.word == Word::kInvalid, version == "abba.analysis/2") << version;
    EXPECT_EQ(verdict.reason.substr(0, 4) == "N039", version == "abba.analysis/2");
  }
  RunRecord run = run_of_version("");
  auto& slot = run.passes[3].blocks[0].slots[1];
  std::swap(slot.start_ns, slot.end_ns);
  EXPECT_EQ(analyze(run).verdicts[0].reason.substr(0, 4), "N039");
  for (auto& sample : run.passes[3].blocks[0].slots[0].samples) {
    sample.start_ns = 0;  // a program that gives no starts
  }
  std::swap(slot.start_ns, slot.end_ns);
  EXPECT_NE(analyze(run).verdicts[0].word, Word::kInvalid);
  std::reverse(slot.samples.begin(), slot.samples.end());  // storage order is no clock
  EXPECT_NE(analyze(run).verdicts[0].word, Word::kInvalid);
}

// A span "parse" of 0.1 ms a request in every slot, `factor` times as long in B.
RunRecord with_control(double factor, double sd, bool record_it = true) {
  RunRecord run = run_of_version("");
  run.manifest.success.controls = {"parse"};
  base::Random random(5);
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        const double mean_ns =
            1e5 * (slot.arm == "B" ? factor : 1) * std::exp(sd * random.normal());
        if (record_it) {
          slot.spans.push_back({-1, "parse", "outer", 0, std::int64_t(20 * mean_ns), 20});
        }
      }
    }
  }
  return run;
}

TEST(NegativeControls, one_that_moves_makes_the_run_suspect) {
  const Analysis moved = analyze(with_control(1.1, 0.01));
  EXPECT_TRUE(has_note(moved, "N040"));
  EXPECT_NE(moved.verdicts[0].word, Word::kInvalid);  // suspect, not invalid
  const Analysis still = analyze(with_control(1, 0.01));
  EXPECT_FALSE(has_note(still, "N040") || has_note(still, "N041") || has_note(still, "N042"));
  EXPECT_TRUE(has_note(analyze(with_control(1, 0.3)), "N041"));
  EXPECT_TRUE(has_note(analyze(with_control(1, 0.01, false)), "N042"));
}

TEST(NegativeControls, are_compared_pass_by_pass_and_below_the_limit_may_differ) {
  const RunRecord run = with_control(1.1, 0.01);
  std::vector<const record::Pass*> passes;
  for (const auto& pass : run.passes) {
    passes.push_back(&pass);
  }
  const auto rows = negative_controls(run, passes, "small", 0.02);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].passes, 12);
  EXPECT_NEAR(rows[0].effect, 0.1, 0.01);
  EXPECT_EQ(rows[0].state, ControlState::kMoved);
  EXPECT_EQ(negative_controls(run, passes, "small", 0.5)[0].state, ControlState::kStill);
  EXPECT_EQ(negative_controls(run, {passes[0]}, "small", 0.02)[0].state,
            ControlState::kNotRecorded);
}

// Totals that never vary are a difference too.
TEST(NegativeControls, one_that_moves_by_exactly_the_same_is_seen) {
  EXPECT_TRUE(has_note(analyze(with_control(1.1, 0)), "N040"));
  EXPECT_FALSE(has_note(analyze(with_control(1, 0)), "N040"));
}

}  // namespace
}  // namespace abba::stats
