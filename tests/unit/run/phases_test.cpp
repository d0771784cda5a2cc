// The way of a run that meets no trouble, phase by phase.
#include <gtest/gtest.h>

#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

TEST(Phases, a_whole_run_is_stored_and_finished) {
  World world;
  const auto result = world.run();
  EXPECT_EQ(violation(world, result), "");
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(result.state, record::RunState::kFinished);
  EXPECT_EQ(result.head_digest, "head");
  ASSERT_EQ(world.sink.passes.size(), 3U);
  EXPECT_EQ(world.sink.passes[0].phase, record::Phase::kFeasibility);
  for (const auto& pass : world.sink.passes) {
    ASSERT_EQ(pass.blocks.size(), 2U);
    for (const auto& block : pass.blocks) {
      ASSERT_EQ(block.slots.size(), 4U);
      EXPECT_EQ(block.boundary, "request");
      for (const auto& slot : block.slots) {
        EXPECT_EQ(slot.samples.size(), 4U);
        EXPECT_TRUE(slot.samples[0].warmup);
        EXPECT_FALSE(slot.samples[1].warmup);
      }
    }
  }
  EXPECT_EQ(world.sink.analyses, 1);
  EXPECT_EQ(world.analysed_state,
            record::RunState::kFinished);  // what verify will find in the file
  EXPECT_EQ(world.ledger, (std::vector<std::string>{"2", "1", "3"}));  // started, bound, finished
}

TEST(Phases, fresh_workers_in_each_measured_pass_and_all_are_stopped) {
  World world;
  world.run();
  EXPECT_EQ(world.script.starts, 2 + 2 * 2);
  EXPECT_EQ(std::count(world.script.log.begin(), world.script.log.end(), "stop A"), 3);
  EXPECT_EQ(world.sink.workers.size(), 6U);
  for (const auto& worker : world.sink.workers) {
    EXPECT_EQ(worker.last_stderr, std::vector<std::string>{"last words"});
  }
}

TEST(Phases, two_pass_reuses_one_worker_an_arm) {
  auto manifest = small_manifest();
  manifest.protocol.preset = record::Preset::kTwoPass;
  manifest.protocol.workers = record::WorkerReuse::kReuse;
  manifest.protocol.order = record::Order::kAbBa;
  World world(manifest);
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(world.script.starts, 2);
  EXPECT_EQ(world.script.slot_letters("w1"), "ABABBA");  // feasibility AB, then AB, BA
}

TEST(Phases, outputs_come_before_any_slot) {
  World world;
  world.run();
  const auto& log = world.script.log;
  const auto is_slot = [](const std::string& line) { return line.rfind("slot", 0) == 0; };
  const auto is_output = [](const std::string& line) { return line.rfind("outputs", 0) == 0; };
  const auto first_slot = std::find_if(log.begin(), log.end(), is_slot);
  EXPECT_EQ(std::count_if(log.begin(), first_slot, is_output), 2 * 2 * 3);
  EXPECT_EQ(std::count_if(first_slot, log.end(), is_output), 0);
}

TEST(Phases, feasibility_binds_equal_counts_by_the_sizing_rule) {
  auto manifest = small_manifest();
  manifest.protocol.slot = {};  // 30 requests or 250 ms; A takes 20 ms, B 30 ms
  World world(manifest);
  const auto result = world.run();
  ASSERT_EQ(result.record.counts.size(), 2U);
  EXPECT_EQ(result.record.counts[0].requests, 30);
  EXPECT_EQ(result.record.counts[0].warmup, 10);
  const record::Binding expected{"counts/w1", "10+30"};
  EXPECT_EQ(std::count(world.sink.bindings.begin(), world.sink.bindings.end(), expected), 1);
  for (const auto& slot : world.sink.passes[1].blocks[0].slots) {
    EXPECT_EQ(slot.samples.size(), 40U);
  }
}

TEST(Phases, bindings_are_stored_before_the_first_slot) {
  World world;
  world.run();
  const auto& kinds = world.sink.kinds;
  const auto bindings = std::find(kinds.begin(), kinds.end(), "bindings");
  const auto outputs = std::find(kinds.begin(), kinds.end(), "outputs");
  ASSERT_NE(bindings, kinds.end());
  EXPECT_LT(bindings, outputs);
  EXPECT_EQ(std::count_if(world.sink.bindings.begin(), world.sink.bindings.end(),
                          [](const auto& b) { return b.name == "library/B/lib.so"; }),
            1);
}

TEST(Phases, a_look_ends_the_run_by_the_rule_alone) {
  auto manifest = small_manifest();
  manifest.protocol.passes = 4;
  World world(manifest);
  world.looks = {2, 4};
  int asked = 0;
  world.look = [&](const record::RunRecord& record) {
    ++asked;
    EXPECT_EQ(record.passes.size(), 3U);  // feasibility and two measured
    return LookAnswer{true, "all decided"};
  };
  const auto result = world.run();
  EXPECT_FALSE(result.error);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(world.sink.passes.size(), 3U);
  EXPECT_TRUE(world.has_note(kStoppedAtLook));
}

TEST(Phases, an_undecided_look_goes_on_to_the_last_pass) {
  auto manifest = small_manifest();
  manifest.protocol.passes = 4;
  World world(manifest);
  world.looks = {2, 4};
  world.look = [](const record::RunRecord&) { return LookAnswer{false, "not yet"}; };
  world.run();
  EXPECT_EQ(world.sink.passes.size(), 5U);
  EXPECT_FALSE(world.has_note(kStoppedAtLook));
}

TEST(Phases, progress_tells_phase_pass_block_and_the_rest) {
  World world;
  world.run();
  const auto& seen = world.observer.seen;
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front().phase, "preflight");
  EXPECT_EQ(seen.back().phase, "finished");
  const auto measured = std::find_if(seen.begin(), seen.end(), [](const Progress& p) {
    return p.phase == "measured" && p.pass == 2 && p.block == 2;
  });
  ASSERT_NE(measured, seen.end());
  EXPECT_EQ(measured->passes, 2);
  EXPECT_GT(measured->elapsed_s, 0);
  EXPECT_NEAR(measured->rest_s, 2 * 4 * (0.02 + 0.03), 0.01);  // its own four slots
}

TEST(Phases, no_rule_for_outputs_is_a_doubt) {
  auto manifest = small_manifest();
  manifest.outputs.rule = record::OutputsRule::kNone;
  World world(manifest);
  world.script.digest["B"] = "other";
  EXPECT_FALSE(world.run().error);
  EXPECT_TRUE(world.has_note(kOutputsNotChecked));
}

}  // namespace
}  // namespace abba::run
