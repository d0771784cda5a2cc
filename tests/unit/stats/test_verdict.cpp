#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::Criterion;
using record::RunRecord;
using record::Verdict;
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

TEST(Verdict, a_clear_gain_is_improved_with_the_interval_that_decided) {
  Spec spec = with_effect(-0.05);
  spec.at_least = 0.02;
  const Analysis analysis = analyze(make_run(spec));
  ASSERT_EQ(analysis.verdicts.size(), 2U);
  for (const Verdict& v : analysis.verdicts) {
    EXPECT_EQ(v.word, Word::kImproved) << v.reason;
    EXPECT_NEAR(v.effect, std::expm1(-0.05), 0.006);
    // Two looks and two workloads: the smaller p at 0.05/4, the larger at 0.05/2.
    EXPECT_TRUE(std::fabs(v.deciding.level - (1 - 0.05 / 4)) < 1e-12 ||
                std::fabs(v.deciding.level - (1 - 0.05 / 2)) < 1e-12);
    EXPECT_DOUBLE_EQ(v.plain95.level, 0.95);
    EXPECT_LT(v.deciding.low, v.plain95.low);
    EXPECT_NE(v.reason.find("by at least 2.00 %"), std::string::npos) << v.reason;
    EXPECT_EQ(v.pass_effects.size(), 12U);
    EXPECT_EQ(v.blocks_used, 48);
  }
  EXPECT_EQ(analysis.criterion, Criterion::kMet);
  EXPECT_EQ(analysis.look, 2);
}

TEST(Verdict, a_gain_below_the_wanted_one_is_improved_but_not_met) {
  Spec spec = with_effect(-0.02);
  spec.at_least = 0.05;
  const Analysis analysis = analyze(make_run(spec));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
  EXPECT_NE(analysis.verdicts[0].reason.find("is not shown"), std::string::npos);
  EXPECT_EQ(analysis.criterion, Criterion::kNotMet);
}

TEST(Verdict, a_loss_is_regressed) {
  const Analysis analysis = analyze(make_run(with_effect(0.05)));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kRegressed);
  EXPECT_EQ(analysis.criterion, Criterion::kNotMet);
}

TEST(Verdict, no_effect_is_equivalent_within_the_harm_limit_and_inconclusive_without) {
  Spec spec = with_effect(0);
  spec.claim = record::Claim::kEquivalent;
  Analysis analysis = analyze(make_run(spec));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kEquivalent) << analysis.verdicts[0].reason;
  EXPECT_EQ(analysis.criterion, Criterion::kMet);
  spec.harm_limit.reset();
  analysis = analyze(make_run(spec));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kInconclusive);
  EXPECT_GT(analysis.verdicts[0].passes_needed, 12);
  EXPECT_TRUE(has_note(analysis, "N020"));
  EXPECT_EQ(analysis.criterion, Criterion::kUndecided);
}

TEST(Verdict, the_claim_decides_which_question_comes_first) {
  Spec spec = with_effect(-0.006);  // real, and far below the limit of 2 %
  spec.process_sd = 0.001;
  EXPECT_EQ(analyze(make_run(spec)).verdicts[0].word, Word::kImproved);
  EXPECT_NE(analyze(make_run(spec)).verdicts[0].reason.find("below the harm limit"),
            std::string::npos);
  spec.claim = record::Claim::kNotWorse;
  const Verdict v = analyze(make_run(spec)).verdicts[0];
  EXPECT_EQ(v.word, Word::kEquivalent);
  EXPECT_NE(v.reason.find("small but real: B takes less"), std::string::npos) << v.reason;
}

// A margin that grew with noise would call real slowdowns harmless; a fixed one makes noise cost
// certainty.
TEST(Verdict, ten_times_the_noise_makes_equivalent_rarer) {
  int quiet = 0;
  int loud = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Spec spec = with_effect(0);
    spec.claim = record::Claim::kEquivalent;
    spec.seed = seed;
    spec.workloads = {"w"};
    quiet += analyze(make_run(spec)).verdicts[0].word == Word::kEquivalent ? 1 : 0;
    spec.process_sd *= 10;
    spec.block_sd *= 10;
    spec.request_sd *= 10;
    const Analysis analysis = analyze(make_run(spec));
    loud += analysis.verdicts[0].word == Word::kEquivalent ? 1 : 0;
    EXPECT_TRUE(has_note(analysis, "N019"));  // "this plan cannot show equivalence"
  }
  EXPECT_GE(quiet, 18);
  EXPECT_LE(loud, 2);
}

TEST(Verdict, linear_drift_cancels_in_abba_and_in_neighbouring_pairs) {
  for (const auto order : {record::Order::kAbbaBaab, record::Order::kAbBa}) {
    Spec spec = with_effect(0);
    spec.order = order;
    spec.process_sd = spec.block_sd = spec.request_sd = 1e-5;
    spec.drift_per_slot = 0.002;
    spec.workloads = {"w"};
    const Verdict v = analyze(make_run(spec)).verdicts[0];
    EXPECT_NEAR(v.effect, 0, 2e-5) << static_cast<int>(order);
    EXPECT_EQ(v.passes, 12);
  }
}

TEST(Verdict, interleaved_requests_are_compared_pair_by_pair) {
  Spec spec = with_effect(-0.03);
  spec.order = record::Order::kInterleaved;
  spec.block_sd = 0;
  spec.drift_per_slot = 0.001;
  const Verdict v = analyze(make_run(spec)).verdicts[0];
  EXPECT_EQ(v.word, Word::kImproved) << v.reason;
  EXPECT_NEAR(v.effect, std::expm1(-0.03), 0.005);
}

TEST(Verdict, a_failed_request_of_one_arm_does_not_shift_the_pairs) {
  Spec spec = with_effect(0);
  spec.order = record::Order::kInterleaved;
  spec.workloads = {"w"};
  spec.process_sd = 0;
  spec.request_sd = 1e-6;
  RunRecord run = make_run(spec);
  for (auto& pass : run.passes) {  // a steep ramp along seq: a shifted pair would show it
    for (auto& slot : pass.blocks[0].slots) {
      for (auto& sample : slot.samples) {
        sample.duration_ns += sample.seq * 100'000;
      }
    }
  }
  run.passes[3].blocks[0].slots[1].samples[5].status = record::SampleStatus::kFailed;
  const Analysis analysis = analyze(run);
  EXPECT_NEAR(analysis.verdicts[0].effect, 0, 1e-5);
  EXPECT_TRUE(has_note(analysis, "N012"));
}

TEST(Properties, swapping_the_labels_mirrors_the_verdict) {
  const RunRecord run = make_run(with_effect(-0.04));
  RunRecord swapped = run;
  for (auto& pass : swapped.passes) {
    for (auto& block : pass.blocks) {
      for (auto& letter : block.slot_order) {
        letter = letter == 'A' ? 'B' : 'A';
      }
      for (auto& slot : block.slots) {
        slot.arm.assign(1, slot.arm == "A" ? 'B' : 'A');
      }
    }
  }
  const Analysis one = analyze(run);
  const Analysis other = analyze(swapped);
  for (std::size_t i = 0; i < one.verdicts.size(); ++i) {
    EXPECT_EQ(one.verdicts[i].word, Word::kImproved);
    EXPECT_EQ(other.verdicts[i].word, Word::kRegressed);
    EXPECT_NEAR(std::log1p(one.verdicts[i].effect), -std::log1p(other.verdicts[i].effect), 1e-12);
    EXPECT_NEAR(one.verdicts[i].p_difference, other.verdicts[i].p_difference, 1e-12);
    EXPECT_NEAR(std::log1p(one.verdicts[i].deciding.low),
                -std::log1p(other.verdicts[i].deciding.high), 1e-12);
  }
}

TEST(Properties, scaling_all_times_changes_no_effect_and_order_of_storage_nothing) {
  const RunRecord run = make_run(with_effect(-0.01));
  RunRecord other = run;
  for (auto& pass : other.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        for (auto& sample : slot.samples) {
          sample.duration_ns *= 8;
        }
        std::reverse(slot.samples.begin(), slot.samples.end());
      }
      std::reverse(block.slots.begin(), block.slots.end());
    }
  }
  std::reverse(other.passes.begin(), other.passes.end());
  const Analysis a = analyze(run);
  const Analysis b = analyze(other);
  for (std::size_t i = 0; i < a.verdicts.size(); ++i) {
    EXPECT_EQ(a.verdicts[i].word, b.verdicts[i].word);
    EXPECT_NEAR(a.verdicts[i].effect, b.verdicts[i].effect, 1e-13);
    EXPECT_NEAR(a.verdicts[i].p_difference, b.verdicts[i].p_difference, 1e-11);
    const auto& pooled_a = a.verdicts[i].summaries.back();
    const auto& pooled_b = b.verdicts[i].summaries.back();
    EXPECT_DOUBLE_EQ(8 * pooled_a.median, pooled_b.median);
    EXPECT_DOUBLE_EQ(8 * pooled_a.mad, pooled_b.mad);
  }
}

TEST(Properties, the_same_record_gives_the_same_bits) {
  const RunRecord run = make_run(with_effect(-0.01));
  const Analysis a = analyze(run);
  const Analysis b = analyze(run);
  EXPECT_EQ(a.headline, b.headline);
  EXPECT_EQ(a.verdicts[0].effect, b.verdicts[0].effect);
  EXPECT_EQ(a.verdicts[0].deciding.low, b.verdicts[0].deciding.low);
}

TEST(Properties, words_and_intervals_need_no_description_of_requests) {
  for (const double effect : {0.0, -0.01, 0.05}) {
    const RunRecord run = make_run(with_effect(effect));
    const Analysis whole = analyze(run);
    const Analysis words = analyze(run, {.describes_requests = false});
    ASSERT_EQ(words.verdicts.size(), whole.verdicts.size());
    for (std::size_t i = 0; i < words.verdicts.size(); ++i) {
      EXPECT_EQ(words.verdicts[i].word, whole.verdicts[i].word);
      EXPECT_EQ(words.verdicts[i].reason, whole.verdicts[i].reason);
      EXPECT_EQ(words.verdicts[i].deciding.low, whole.verdicts[i].deciding.low);
      EXPECT_TRUE(words.verdicts[i].summaries.empty());
      EXPECT_FALSE(whole.verdicts[i].summaries.empty());
    }
  }
  Spec seeds = with_effect(-0.05);
  seeds.preset = record::Preset::kTwoPass;
  seeds.passes = 2;
  seeds.claim = record::Claim::kDisjointPassMeans;
  const RunRecord run = make_run(seeds);
  EXPECT_EQ(analyze(run, {.describes_requests = false}).verdicts[0].reason,
            analyze(run).verdicts[0].reason)
      << "this rule reads the means";
}

TEST(SmallPlans, quick_and_exploratory_runs_have_words_of_their_own) {
  Spec spec = with_effect(-0.05);
  spec.preset = record::Preset::kQuick;
  spec.passes = 6;
  spec.looks = {6};
  EXPECT_EQ(analyze(make_run(spec)).verdicts[0].word, Word::kFaster);
  spec.effect = 0.05;
  EXPECT_EQ(analyze(make_run(spec)).verdicts[0].word, Word::kSlower);
  spec.effect = 0;
  EXPECT_EQ(analyze(make_run(spec)).verdicts[0].word, Word::kNoDifferenceSeen);
  RunRecord exploratory = make_run(with_effect(-0.05));
  exploratory.exploratory = true;
  EXPECT_EQ(analyze(exploratory).verdicts[0].word, Word::kFaster);
  EXPECT_EQ(analyze(exploratory).criterion, Criterion::kNone);
}

Spec two_pass(double effect) {
  Spec spec = with_effect(effect);
  spec.preset = record::Preset::kTwoPass;
  spec.order = record::Order::kAbBa;
  spec.claim = record::Claim::kDisjointPassMeans;
  spec.passes = 2;
  spec.looks = {2};
  spec.blocks = 1;
  spec.fresh_workers = false;
  spec.harm_limit.reset();
  return spec;
}

TEST(SmallPlans, two_pass_says_only_whether_the_pass_means_are_disjoint) {
  Analysis analysis = analyze(make_run(two_pass(-0.05)));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kDisjointMet) << analysis.verdicts[0].reason;
  EXPECT_EQ(analysis.criterion, Criterion::kMet);
  EXPECT_TRUE(has_note(analysis, "N029"));
  EXPECT_TRUE(has_note(analysis, "N027"));
  EXPECT_FALSE(analysis.verdicts[0].deciding.estimable());
  analysis = analyze(make_run(two_pass(0.05)));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kDisjointMet);
  EXPECT_EQ(analysis.criterion, Criterion::kNotMet);  // disjoint, but B lies above
  int met = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Spec spec = two_pass(0);
    spec.seed = seed;
    spec.workloads = {"w"};
    spec.process_sd = 0.01;  // dominates: four exchangeable means
    met += analyze(make_run(spec)).verdicts[0].word == Word::kDisjointMet ? 1 : 0;
  }
  EXPECT_NEAR(met / 300.0, 1.0 / 3, 0.08);  // the false-alarm rate that N029 states
}

TEST(SmallPlans, two_pass_never_uses_a_verdict_word_whatever_its_claim) {
  Spec spec = two_pass(-0.05);
  spec.claim = record::Claim::kFaster;
  EXPECT_EQ(analyze(make_run(spec)).verdicts[0].word, Word::kDisjointMet);
}

TEST(SameHashLaw, equal_arms_give_no_speed_claim_even_if_the_interval_excludes_zero) {
  Spec spec = with_effect(-0.05);
  spec.equal_arms = true;
  Analysis analysis = analyze(make_run(spec));
  EXPECT_TRUE(analysis.same_hash_law);
  EXPECT_EQ(analysis.verdicts[0].word, Word::kInconclusive);
  EXPECT_EQ(analysis.criterion, Criterion::kNone);
  EXPECT_NE(analysis.headline.find("no speed claim"), std::string::npos);
  const Options off{.same_hash_law = false};
  EXPECT_EQ(analyze(make_run(spec), off).verdicts[0].word, Word::kImproved);
}

TEST(SameHashLaw, one_differing_binding_factor_or_argument_lifts_it) {
  Spec spec = with_effect(-0.05);
  spec.equal_arms = true;
  RunRecord run = make_run(spec);
  run.bindings[1].value[0] = 'c';
  EXPECT_FALSE(analyze(run).same_hash_law);
  EXPECT_TRUE(has_note(analyze(run), "N022"));
  run = make_run(spec);
  run.load["A"].factors = {{"blocking", "row_32"}};
  run.load["B"].factors = {{"blocking", "row_1"}};  // a level that fell back
  EXPECT_FALSE(analyze(run).same_hash_law);
  run = make_run(spec);
  run.manifest.a.program = {"/bin/x", "--fast"};
  run.manifest.b.program = {"/bin/x"};
  EXPECT_FALSE(analyze(run).same_hash_law);
  run = make_run(with_effect(-0.05));  // undeclared, but factors differ only by name
  run.manifest.b.factors = run.manifest.a.factors;
  EXPECT_TRUE(analyze(run).same_hash_law);
  run.bindings.clear();  // no code is known: nothing may be concluded from that
  EXPECT_FALSE(analyze(run).same_hash_law);
}

TEST(Sensitivity, a_disagreement_makes_the_verdict_inconclusive) {
  Spec spec = with_effect(0);
  spec.workloads = {"w"};
  spec.process_sd = spec.block_sd = spec.request_sd = 1e-4;
  RunRecord run = make_run(spec);
  // Six passes gain 4 to 5 %, the others lose a little: the mean is clearly below zero, but half of
  // the signs speak against it.
  for (std::size_t p = 0; p < run.passes.size(); ++p) {
    const double shift = p < 6 ? -0.045 - 0.001 * static_cast<double>(p) : 0.0085;
    for (auto& block : run.passes[p].blocks) {
      for (auto& slot : block.slots) {
        if (slot.arm == "B") {
          for (auto& sample : slot.samples) {
            sample.duration_ns =
                std::llround(static_cast<double>(sample.duration_ns) * std::exp(shift));
          }
        }
      }
    }
  }
  run.manifest.success.confidence = 0.6;  // so that the primary decides what the others would not
  const Analysis analysis = analyze(run);
  EXPECT_LT(analysis.verdicts[0].p_difference, 0.2);
  EXPECT_FALSE(analysis.verdicts[0].sensitivity_agrees);
  EXPECT_EQ(analysis.verdicts[0].word, Word::kInconclusive) << analysis.verdicts[0].reason;
  EXPECT_TRUE(has_note(analysis, "N017"));
}

}  // namespace
}  // namespace abba::stats
