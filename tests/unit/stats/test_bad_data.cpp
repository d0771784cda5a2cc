// Whatever a run file holds, analyze() returns a value: `invalid` with a coded reason, and no
// number that is infinite or not a number, no p-value, no deciding interval.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using record::Analysis;
using record::RunRecord;
using record::Verdict;
using record::Word;

RunRecord good_run() {
  synthetic::Spec spec;
  spec.effect = -0.05;
  return synthetic::make_run(spec);
}

record::Block& first_block(RunRecord& run, const std::string& workload = "small") {
  auto& blocks = run.passes[2].blocks;
  return *std::find_if(blocks.begin(), blocks.end(),
                       [&](const auto& block) { return block.workload == workload; });
}

void expect_finite(const Analysis& analysis) {
  for (const Verdict& v : analysis.verdicts) {
    for (const double x :
         {v.effect, v.deciding.low, v.deciding.high, v.plain95.low, v.plain95.high, v.pass_sd,
          v.detectable, v.hodges_lehmann, v.signed_rank.low, v.signed_rank.high, v.p_difference,
          v.p_equivalence, v.carry_over.low, v.carry_over.high}) {
      EXPECT_TRUE(std::isfinite(x)) << v.workload << ": " << v.reason;
    }
  }
}

void expect_invalid(const RunRecord& run, const std::string& code) {
  const Analysis analysis = analyze(run);
  const Verdict& v = analysis.verdicts.at(0);
  EXPECT_EQ(v.word, Word::kInvalid) << v.reason;
  EXPECT_EQ(v.reason.substr(0, 4), code) << v.reason;
  EXPECT_FALSE(v.deciding.estimable());
  EXPECT_DOUBLE_EQ(v.p_difference, -1);
  EXPECT_DOUBLE_EQ(v.sign_flip_p, -1);
  EXPECT_NE(analysis.criterion, record::Criterion::kMet);
  const auto has_code = [&](const auto& note) { return note.code == code; };
  EXPECT_TRUE(std::any_of(analysis.notes.begin(), analysis.notes.end(), has_code) ||
              std::any_of(run.notes.begin(), run.notes.end(), has_code));
  expect_finite(analysis);
}

TEST(BadData, the_unspoilt_run_is_valid) {  // otherwise nothing below would show anything
  const Analysis analysis = analyze(good_run());
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
  expect_finite(analysis);
}

TEST(BadData, zero_and_negative_times) {
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::min()}) {
    RunRecord run = good_run();
    first_block(run).slots[0].samples[7].duration_ns = time;
    expect_invalid(run, "N003");
    for (auto& sample : first_block(run).slots[0].samples) {
      sample.duration_ns = time;
    }
    expect_invalid(run, "N003");
  }
}

TEST(BadData, values_that_are_no_numbers) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
    RunRecord run = good_run();
    run.manifest.success.metric = "items";
    for (auto& pass : run.passes) {
      for (auto& block : pass.blocks) {
        for (auto& slot : block.slots) {
          for (const auto& sample : slot.samples) {
            slot.values.push_back({sample.seq, "items", 1e9 / double(sample.duration_ns)});
          }
        }
      }
    }
    EXPECT_NE(analyze(run).verdicts[0].word, Word::kInvalid);
    first_block(run).slots[1].values[9].value = value;
    expect_invalid(run, "N003");
  }
}

TEST(BadData, a_metric_that_nobody_measured) {
  RunRecord run = good_run();
  run.manifest.success.metric = "no such metric";
  expect_invalid(run, "N009");
  run = good_run();
  run.manifest.success.boundary = "no such boundary";
  expect_invalid(run, "N009");
}

TEST(BadData, one_pass_no_pass_no_workload) {
  RunRecord run = good_run();
  run.passes.resize(1);
  expect_invalid(run, "N001");
  run.passes.clear();
  expect_invalid(run, "N009");
  run.manifest.workloads.clear();
  EXPECT_TRUE(analyze(run).verdicts.empty());
  EXPECT_EQ(analyze(run).criterion, record::Criterion::kNone);
  EXPECT_FALSE(stop_at_look(run));
  EXPECT_TRUE(analyze(RunRecord{}).verdicts.empty());
}

TEST(BadData, all_times_equal) {
  RunRecord run = good_run();
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        for (auto& sample : slot.samples) {
          sample.duration_ns = 1000;
        }
      }
    }
  }
  expect_invalid(run, "N007");
}

TEST(BadData, an_arm_missing_in_a_pass) {
  RunRecord run = good_run();
  auto& slots = first_block(run).slots;
  slots.erase(
      std::remove_if(slots.begin(), slots.end(), [](const auto& slot) { return slot.arm == "B"; }),
      slots.end());
  expect_invalid(run, "N004");
  run = good_run();
  first_block(run).slots.pop_back();
  expect_invalid(run, "N004");
  run = good_run();
  first_block(run).slots[0].arm = "C";
  expect_invalid(run, "N004");
}

TEST(BadData, unequal_slots_and_duplicate_numbers) {
  RunRecord run = good_run();
  first_block(run).slots[0].samples.pop_back();
  expect_invalid(run, "N005");
  run = good_run();
  first_block(run).slots[0].samples[8].seq = 9;
  expect_invalid(run, "N006");
}

TEST(BadData, a_slot_without_measured_requests) {
  RunRecord run = good_run();
  for (auto& slot : first_block(run).slots) {
    slot.samples.clear();
  }
  expect_invalid(run, "N009");
}

TEST(BadData, two_passes_of_one_index) {
  RunRecord run = good_run();
  run.passes[4].index = 3;
  expect_invalid(run, "N033");
}

TEST(BadData, many_failed_requests_are_fatal_a_few_are_a_doubt) {
  RunRecord run = good_run();
  first_block(run).slots[0].samples[7].status = record::SampleStatus::kFailed;
  Analysis analysis = analyze(run);
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
  std::int64_t failures = 0;
  for (const auto& summary : analysis.verdicts[0].summaries) {
    failures += summary.pass == -1 ? summary.failures : 0;
  }
  EXPECT_EQ(failures, 1);
  for (auto& pass : run.passes) {
    pass.blocks[0].slots[0].samples[7].status = record::SampleStatus::kFailed;
    pass.blocks[0].slots[1].samples[8].status = record::SampleStatus::kFailed;
    pass.blocks[0].slots[2].samples[8].status = record::SampleStatus::kFailed;
    pass.blocks[0].slots[3].samples[9].status = record::SampleStatus::kFailed;
  }
  expect_invalid(run, "N011");
}

TEST(BadData, a_million_samples_of_which_two_in_five_failed) {
  synthetic::Spec spec;
  spec.workloads = {"w1", "w2", "w3", "w4", "w5"};
  spec.requests = 1042;
  spec.effect = -0.05;
  RunRecord run = synthetic::make_run(spec);
  std::int64_t samples = 0;
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        for (auto& sample : slot.samples) {
          sample.status =
              ++samples % 5 < 2 ? record::SampleStatus::kFailed : record::SampleStatus::kOk;
        }
      }
    }
  }
  EXPECT_GE(samples, 1'000'000);
  expect_invalid(run, "N011");
}

TEST(BadData, a_clock_that_went_back) {
  RunRecord run = good_run();
  first_block(run).slots[1].samples[9].start_ns = 5;
  expect_invalid(run, "N039");
}

TEST(BadData, harm_limits_without_meaning) {
  for (const double limit : {0.0, -0.1, 1.0, 5.0, std::numeric_limits<double>::quiet_NaN()}) {
    RunRecord run = good_run();
    run.manifest.success.harm_limit = limit;
    expect_invalid(run, "N036");
  }
}

TEST(Exclusions, taint_that_remains_is_fatal_taint_that_was_replaced_is_shown) {
  RunRecord run = good_run();
  first_block(run).taint = "cpu-load";
  expect_invalid(run, "N008");
  EXPECT_EQ(analyze(run).verdicts[1].word, Word::kImproved);  // the other workload is untouched
  record::Block repeat = first_block(run);
  repeat.id = 900;
  repeat.taint.clear();
  for (auto& sample : first_block(run).slots[0].samples) {
    sample.duration_ns *= 50;  // what the taint did must not reach the estimate
  }
  run.passes[2].blocks.push_back(repeat);
  const Analysis analysis = analyze(run);
  const Analysis clean = analyze(good_run());
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
  EXPECT_NEAR(analysis.verdicts[0].effect, clean.verdicts[0].effect, 1e-12);
  EXPECT_EQ(analysis.verdicts[0].blocks_tainted, 1);
  EXPECT_EQ(analysis.verdicts[0].blocks_used, 48);
}

TEST(Exclusions, superseded_failed_and_incomplete_passes_leave_whole) {
  RunRecord run = good_run();
  record::Pass interrupted = run.passes[3];
  interrupted.superseded = true;
  interrupted.why = "stopped";
  interrupted.blocks.resize(2);
  run.passes.insert(run.passes.begin() + 3, interrupted);
  EXPECT_EQ(complete_passes(run), 12);
  EXPECT_EQ(analyze(run).verdicts[0].effect, analyze(good_run()).verdicts[0].effect);

  run = good_run();
  first_block(run).failed = true;  // not rerun: the pass is incomplete
  EXPECT_EQ(complete_passes(run), 11);
  expect_invalid(run, "N002");
  record::Block repeat = first_block(run);
  repeat.failed = false;
  repeat.id = 901;
  run.passes[2].blocks.push_back(repeat);  // rerun
  EXPECT_EQ(complete_passes(run), 12);
  EXPECT_EQ(analyze(run).verdicts[0].blocks_failed, 1);
  EXPECT_EQ(analyze(run).verdicts[0].word, Word::kImproved);
}

TEST(Exclusions, feasibility_and_warm_up_enter_no_statistic) {
  RunRecord run = good_run();
  record::Pass feasibility = run.passes[0];
  feasibility.phase = record::Phase::kFeasibility;
  run.passes.insert(run.passes.begin(), feasibility);
  for (auto& pass : run.passes) {
    for (auto& block : pass.blocks) {
      for (auto& slot : block.slots) {
        for (auto& sample : slot.samples) {
          sample.duration_ns *= sample.warmup ? 1000 : 1;
        }
      }
    }
  }
  EXPECT_EQ(analyze(run).verdicts[0].effect, analyze(good_run()).verdicts[0].effect);
}

TEST(Checks, outputs_that_differ_invalidate_a_shared_failure_of_the_reference_does_not) {
  RunRecord run = good_run();
  run.output_checks.push_back({"small", "logits", "B", "A", "d", false, false});
  expect_invalid(run, "N010");
  run.output_checks = {{"small", "logits", "B", "reference", "d", false, false}};
  expect_invalid(run, "N010");
  run.output_checks.push_back({"small", "logits", "A", "reference", "d", false, false});
  EXPECT_EQ(analyze(run).verdicts[0].word, Word::kImproved);
  run = good_run();
  run.manifest.outputs.rule = record::OutputsRule::kBitwise;
  first_block(run).slots[1].digest = std::string(64, '1');
  expect_invalid(run, "N037");
}

TEST(Checks, what_the_run_itself_found_fatal_stays_fatal) {
  RunRecord run = good_run();
  run.notes = {{"N065", record::Severity::kInvalid, "library/B/libx.so", "changed"}};
  expect_invalid(run, "N065");
  run.notes = {{"N052", record::Severity::kInvalid, "small", "digests"}};
  EXPECT_EQ(analyze(run).verdicts[0].word, Word::kInvalid);
  EXPECT_EQ(analyze(run).verdicts[1].word, Word::kImproved);  // "large" is another workload
}

TEST(Checks, carry_over_beyond_the_limit_invalidates) {
  synthetic::Spec spec;
  spec.effect = -0.05;
  spec.first_slot = 0.1;  // against a harm limit of 2 %
  expect_invalid(synthetic::make_run(spec), "N023");
  spec.first_slot = 0.01;
  const Analysis analysis = analyze(synthetic::make_run(spec));
  EXPECT_EQ(analysis.verdicts[0].word, Word::kImproved);
  EXPECT_NEAR(analysis.verdicts[0].carry_over_effect, 0.01, 0.002);
}

TEST(Checks, an_arm_that_always_had_company_is_invalid) {
  const auto exposed = [](double of_b) {
    RunRecord run = good_run();
    for (const auto& pass : run.passes) {
      for (const auto& block : pass.blocks) {
        for (const auto& slot : block.slots) {
          const double wall = static_cast<double>(slot.end_ns - slot.start_ns);
          const double share = slot.arm == "B" ? of_b : 0.0;
          const double wiggle = 1e-4 * static_cast<double>(slot.id % 7);
          run.environment.push_back(
              {slot.id, slot.end_ns, "after", "foreign.cpu", wall * (share + wiggle), "ns", ""});
        }
      }
    }
    return run;
  };
  expect_invalid(exposed(0.2), "N025");
  EXPECT_EQ(analyze(exposed(0.005)).verdicts[0].word, Word::kImproved);
}

}  // namespace
}  // namespace abba::stats
