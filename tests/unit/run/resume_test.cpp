#include "harness/run/resume.h"

#include <gtest/gtest.h>

#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

record::Manifest four_passes() {
  auto manifest = small_manifest();
  manifest.protocol.passes = 4;
  return manifest;
}

// Stops after `slots` slots and returns the record as the file would give it back.
record::RunRecord interrupted(World& world, std::int64_t slots) {
  world.script.at_slot = [](const std::string&, std::int64_t) {};
  world.stop = [&world, slots] { return world.script.slots >= slots; };
  auto record = world.run().record;
  world.stop = nullptr;
  return record;
}

int complete_measured(const World& world) {
  int count = 0;
  for (const auto& pass : world.sink.passes) {
    count += pass.phase == record::Phase::kMeasured && !pass.superseded && pass.end_ns > 0;
  }
  return count;
}

TEST(Resume, finishes_an_interrupted_run_whenever_it_was_interrupted) {
  for (const std::int64_t slots : {0, 3, 8, 9, 16, 21, 39}) {
    World world(four_passes());
    const auto record = interrupted(world, slots);
    const auto result = world.resume(record);
    EXPECT_FALSE(result.error) << slots << ": " << result.text;
    EXPECT_EQ(violation(world, result), "") << slots;
    EXPECT_EQ(complete_measured(world), 4) << slots;
    EXPECT_TRUE(world.has_note(kResumed));
  }
}

TEST(Resume, keeps_complete_passes_and_the_bound_counts) {
  World world(four_passes());
  const auto record = interrupted(world, 8 + 8 + 3);
  world.script.request_ns = {{"A", 1e6}, {"B", 1e6}};
  const auto before = world.sink.passes.size();
  const auto result = world.resume(record);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(world.sink.passes.size(), before + 3);  // no second feasibility, no second pass 0
  EXPECT_EQ(world.sink.passes[before].index, 1);
  EXPECT_EQ(result.record.counts.size(), 2U);
}

// The steady clock begins anew with every boot.
TEST(Resume, after_a_reboot_goes_on_with_a_clock_that_stands_lower) {
  World world(four_passes());
  const auto record = interrupted(world, 20);
  world.clock = host::FakeClock{5, 500};
  const auto result = world.resume(record);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(complete_measured(world), 4);
  for (const auto& pass : world.sink.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        EXPECT_GE(slot.idle_gap_ns, 0);
        EXPECT_GT(slot.end_ns, slot.start_ns);
      }
    }
  }
}

TEST(Resume, gives_new_ids) {
  World world(four_passes());
  const auto record = interrupted(world, 20);
  world.resume(record);
  std::vector<std::int64_t> ids;
  for (const auto& pass : world.sink.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        ids.push_back(slot.id);
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(Resume, refuses_a_changed_program_and_measures_nothing) {
  World world(four_passes());
  const auto record = interrupted(world, 20);
  world.script.library["A"] = "rebuilt";
  const auto slots = world.script.slots;
  const auto result = world.resume(record);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kMismatch);
  EXPECT_EQ(world.script.slots, slots);
}

TEST(Resume, outputs_that_differed_are_checked_again_before_anything_is_timed) {
  World world(four_passes());
  world.script.digest["B"] = "other";
  const auto record = world.run().record;
  ASSERT_FALSE(record.output_checks.empty());
  const auto result = world.resume(record);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kPreflight);
  EXPECT_EQ(world.script.slots, 0);
}

TEST(Resume, makes_up_for_the_look_it_was_interrupted_before) {
  World world(four_passes());
  world.looks = {2, 4};
  const auto record = interrupted(world, 8 + 2 * 8);
  world.look = [](const record::RunRecord&) { return LookAnswer{true, "all decided"}; };
  const auto slots = world.script.slots;
  const auto result = world.resume(record);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(world.script.slots, slots);
  EXPECT_TRUE(world.has_note(kStoppedAtLook));
}

TEST(Resume, a_binding_event_is_written_once) {
  for (const std::int64_t slots : {3, 20}) {
    World world(four_passes());
    const auto record = interrupted(world, slots);
    world.resume(record);
    EXPECT_EQ(std::count(world.ledger.begin(), world.ledger.end(), "1"), 1) << slots;
  }
}

// Several reasons why a device cannot be read share a source and a key; they are no change.
TEST(Resume, only_another_machine_is_called_another_machine) {
  for (const bool other : {false, true}) {
    World world(four_passes());
    world.identity = {{"device", "unavailable", "no driver"}, {"device", "unavailable", "no NVML"}};
    const auto record = interrupted(world, 20);
    if (other) world.identity[1].value = "NVML found";
    world.resume(record);
    EXPECT_EQ(world.has_note(kMachineChanged), other);
  }
}

TEST(Resume, a_pass_cut_off_by_a_kill_is_superseded) {
  World world(four_passes());
  auto record = world.run().record;
  record.passes[2].end_ns = 0;  // as after SIGKILL: begun, some blocks, no end
  record.passes[2].blocks.pop_back();
  const auto point = resume_point(record);
  ASSERT_EQ(point.supersede.size(), 1U);
  EXPECT_EQ(point.supersede[0], record.passes[2].id);
  EXPECT_EQ(point.done, (std::set<int>{0, 2, 3}));
}

}  // namespace
}  // namespace abba::run
