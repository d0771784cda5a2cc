// Conditions of the arms: what is judged, what is shown, and which readings count.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "harness/stats/analyze.h"
#include "harness/stats/exposure.h"
#include "harness/stats/measured.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using Emit = std::function<void(const record::Slot& slot, record::RunRecord& run)>;

void put(record::RunRecord& run, const record::Slot& slot, const char* moment, const char* key,
         double value) {
  run.environment.push_back({slot.id, slot.start_ns, moment, key, value, "", ""});
}

record::RunRecord run_with(const Emit& emit) {
  synthetic::Spec spec;
  spec.effect = -0.05;
  record::RunRecord run = synthetic::Maker(spec).run();
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      for (const record::Slot& slot : block.slots) emit(slot, run);
    }
  }
  return run;
}

std::vector<ExposureRow> rows_of(const record::RunRecord& run) {
  return exposure(run, counted_passes(run), "small");
}

bool has_note(const record::RunRecord& run, const std::string& code) {
  const record::Analysis analysis = analyze(run);
  return std::any_of(analysis.notes.begin(), analysis.notes.end(),
                     [&](const record::Note& note) { return note.code == code; });
}

// A little noise, so that an interval exists.
double jitter(const record::Slot& slot) {
  return static_cast<double>(slot.id * 7919 % 13) / 13;
}

TEST(Exposure, StolenTimeAloneIsNotToldAsForeignPlusStolen) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    put(into, slot, "after", "steal.cpu", 1000 * jitter(slot));
  });
  EXPECT_TRUE(rows_of(run).empty()) << "what other programs took is not known";
  EXPECT_TRUE(has_note(run, "N026"));
}

TEST(Exposure, AClockDropInOneArmIsFoundAndJudged) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    put(into, slot, "during", "gpu.sm_clock", (slot.arm == "A" ? 1980 : 1881) + jitter(slot));
  });
  const auto rows = rows_of(run);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "SM clock");
  EXPECT_EQ(rows[0].passes.size(), 12U);
  EXPECT_NEAR(rows[0].interval.low, -0.051, 0.002);
  EXPECT_TRUE(has_note(run, "N025"));
}

TEST(Exposure, EqualClocksAreNotJudgedHoweverManyIdleReadingsStandBefore) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    put(into, slot, "before", "gpu.sm_clock", 345);
    for (int i = 0; i < (slot.arm == "A" ? 3 : 1); ++i) {  // the faster arm is sampled less often
      put(into, slot, "during", "gpu.sm_clock", 1980 + jitter(slot));
    }
    put(into, slot, "after", "gpu.sm_clock", 1980 + jitter(slot));
  });
  EXPECT_NEAR(rows_of(run).front().a, 1980.5, 0.5);
  EXPECT_FALSE(has_note(run, "N025"));
}

TEST(Exposure, PowerAndHeatAreShownAndNeverJudged) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    const bool is_a = slot.arm == "A";
    put(into, slot, "during", "gpu.power", (is_a ? 500 : 300) + jitter(slot));
    put(into, slot, "during", "gpu.temperature", (is_a ? 60 : 40) + jitter(slot));
    const auto wall = static_cast<double>(slot.end_ns - slot.start_ns);
    put(into, slot, "after", "gpu.slot.power_capped", is_a ? 0.5 * wall : 0);
  });
  const auto rows = rows_of(run);
  ASSERT_EQ(rows.size(), 3U);
  for (const ExposureRow& row : rows) EXPECT_LT(row.limit, 0) << row.what;
  EXPECT_NEAR(rows[2].a, 0.5, 1e-9);
  EXPECT_NEAR(rows[2].b, 0, 1e-9);
  EXPECT_FALSE(has_note(run, "N025"));
}

TEST(Exposure, ForeignTimeOnTheDeviceIsJudgedWithoutAnyAllowance) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    const auto wall = static_cast<double>(slot.end_ns - slot.start_ns);
    put(into, slot, "after", "gpu.foreign",
        slot.arm == "B" ? wall * (0.001 + 0.0001 * jitter(slot)) : 0);
  });
  EXPECT_TRUE(has_note(run, "N025"));
}

// B draws more: it is capped a third of the time and its clock 0.6 % lower for it.
record::RunRecord run_with_capped_b(double share_of_a, double share_of_b) {
  return run_with([=](const record::Slot& slot, record::RunRecord& into) {
    const bool is_a = slot.arm == "A";
    const auto wall = static_cast<double>(slot.end_ns - slot.start_ns);
    put(into, slot, "during", "gpu.sm_clock", (is_a ? 2000 : 1988) + 0.001 * jitter(slot));
    put(into, slot, "after", "gpu.slot.power_capped",
        wall * ((is_a ? share_of_a : share_of_b) + 0.01 * jitter(slot)));
  });
}

TEST(Exposure, AnArmAtItsPowerCapIsToldInTimeAndInCycles) {
  const record::RunRecord run = run_with_capped_b(0, 1.0 / 3);
  const record::Analysis analysis = analyze(run);
  const auto note = std::find_if(analysis.notes.begin(), analysis.notes.end(),
                                 [](const auto& n) { return n.code == "N045"; });
  ASSERT_NE(note, analysis.notes.end());
  const double in_time = analysis.verdicts[0].effect;
  const double in_cycles = (1 + in_time) * 1988.0 / 2000 - 1;
  char wanted[100];
  std::snprintf(wanted, sizeof wanted, "is %+.2f %% in time and %+.2f %% in SM clock cycles",
                100 * in_time, 100 * in_cycles);
  EXPECT_NE(note->text.find(wanted), std::string::npos) << note->text << "; wanted " << wanted;
  EXPECT_EQ(analysis.verdicts[0].word, record::Word::kImproved) << "told, not judged";
  EXPECT_FALSE(has_note(run_with_capped_b(1.0 / 3, 1.0 / 3), "N045"));
  record::RunRecord earlier = run;
  earlier.analysis_version = "abba.analysis/3";
  EXPECT_FALSE(has_note(earlier, "N045"));
}

TEST(Exposure, InterleavedArmsShareWhatWasReadOfABlock) {
  synthetic::Spec spec;
  spec.order = record::Order::kInterleaved;
  record::RunRecord run = synthetic::make_run(spec);
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      put(run, block.slots[0], "during", "gpu.sm_clock", 1500 + 10 * pass.index);
    }
  }
  const auto rows = rows_of(run);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].shared);
  EXPECT_EQ(rows[0].passes.size(), 12U);
  EXPECT_DOUBLE_EQ(rows[0].a, 1555);
  EXPECT_DOUBLE_EQ(rows[0].b, 1555);
  EXPECT_FALSE(rows[0].interval.estimable());
  EXPECT_LT(rows[0].limit, 0) << "nothing to judge";
  for (const record::Pass& pass : run.passes) {
    for (const record::Block& block : pass.blocks) {
      put(run, block.slots[1], "during", "gpu.sm_clock", 1400 + 10 * pass.index);
    }
  }
  EXPECT_FALSE(rows_of(run)[0].shared) << "each arm was read by itself";
  EXPECT_TRUE(has_note(run, "N025"));
}

TEST(Exposure, UnreadableIsAbsentNotZero) {
  const auto run = run_with([](const record::Slot& slot, record::RunRecord& into) {
    into.environment.push_back(
        {slot.id, 0, "during", "gpu.sm_clock", 0, "", "unreadable: not permitted"});
  });
  EXPECT_TRUE(rows_of(run).empty());
  EXPECT_TRUE(has_note(run, "N026"));
}

}  // namespace
}  // namespace abba::stats
