// Every way a run can end badly: what is kept, what is said, which exit code.
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;
using record::RunState;

void die_at(World& world, std::vector<std::int64_t> slots) {
  world.script.at_slot = [slots](const std::string&, std::int64_t call) {
    if (std::find(slots.begin(), slots.end(), call) != slots.end()) {
      throw Error(ErrorCode::kBroken, "worker", "died with signal 9");
    }
  };
}

TEST(Endings, a_dead_worker_fails_the_block_and_the_pass_is_run_again) {
  World world;
  die_at(world, {10});  // feasibility has 8 slots; this is in the first measured block
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  ASSERT_EQ(world.sink.passes.size(), 4U);
  EXPECT_TRUE(world.sink.passes[1].superseded);
  ASSERT_EQ(world.sink.passes[1].blocks.size(), 1U);
  EXPECT_TRUE(world.sink.passes[1].blocks[0].failed);
  EXPECT_EQ(world.sink.passes[1].blocks[0].slots.size(), 2U);  // those before it are kept
  EXPECT_FALSE(world.sink.passes[2].superseded);
  EXPECT_EQ(world.sink.passes[2].index, 0);
  EXPECT_TRUE(world.has_note(kWorkerFailed));
  EXPECT_TRUE(world.has_note(kPassSuperseded));
  EXPECT_EQ(world.script.starts, 8);
}

TEST(Endings, a_second_death_in_the_same_pass_breaks_the_run) {
  World world;
  world.manifest.path = "manifests/m.json";
  die_at(world, {10, 12});
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kBroken);
  EXPECT_EQ(result.state, RunState::kBroken);
  EXPECT_EQ(violation(world, result), "");
  EXPECT_NE(result.text.find("--resume"), std::string::npos);
  World tried;  // without a manifest there is nothing to resume
  die_at(tried, {10, 12});
  const std::string text = tried.run().text;
  EXPECT_EQ(text.find("--resume"), std::string::npos) << text;
  EXPECT_NE(text.find("try again"), std::string::npos) << text;
}

TEST(Endings, a_dead_worker_is_replaced_in_a_reused_run_too) {
  auto manifest = small_manifest();
  manifest.protocol.workers = record::WorkerReuse::kReuse;
  World world(manifest);
  die_at(world, {10});
  EXPECT_FALSE(world.run().error);
  EXPECT_EQ(world.script.starts, 4);
}

TEST(Endings, a_wrong_number_of_samples_fails_the_block) {
  World world;
  world.script.samples_short = 1;
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kBroken);
  EXPECT_EQ(violation(world, result), "");
}

// A program that prints its own samples was not told their number, or chose another.
TEST(Endings, a_programs_own_number_of_samples_is_kept_and_noted_once_an_arm) {
  auto manifest = small_manifest();
  manifest.a.reads = record::Reads::kGoogleBenchmark;
  manifest.b.reads = record::Reads::kLines;
  World world(manifest);
  world.script.samples_short = 1;
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  for (const auto& pass : world.sink.passes) {
    for (const auto& block : pass.blocks) {
      EXPECT_FALSE(block.failed);
      for (const auto& slot : block.slots) EXPECT_EQ(slot.samples.size(), 3U);
    }
  }
  const auto of_arm = [&](const std::string& arm) {
    return std::count_if(world.sink.notes.begin(), world.sink.notes.end(), [&](const auto& note) {
      return note.code == kOwnCounts && note.text.find("arm " + arm) == 0;
    });
  };
  EXPECT_EQ(of_arm("A"), 2);  // a workload each
  EXPECT_EQ(of_arm("B"), 2);
}

TEST(Endings, a_program_without_a_sample_beside_warm_ups_breaks_the_run) {
  auto manifest = small_manifest();
  manifest.a.reads = manifest.b.reads = record::Reads::kLines;
  World world(manifest);
  world.script.samples_short = 3;
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kBroken);
  EXPECT_NE(result.text.find("1 samples where 4"), std::string::npos) << result.text;
}

TEST(Endings, the_wall_clock_of_a_program_gives_the_asked_number) {
  auto manifest = small_manifest();
  manifest.a.reads = manifest.b.reads = record::Reads::kWall;
  World world(manifest);
  world.script.samples_short = 1;
  EXPECT_TRUE(world.run().error);
}

TEST(Endings, a_library_changed_in_the_middle_stops_with_a_mismatch) {
  World world;
  world.script.at_start = [&](const std::string& arm, int start) {
    if (arm == "B" && start >= 4) {  // second measured pass
      world.script.library["B"] = "rebuilt";
    }
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kMismatch);
  EXPECT_NE(result.text.find("library/B/lib.so"), std::string::npos) << result.text;
  EXPECT_EQ(violation(world, result), "");
  ASSERT_EQ(world.sink.passes.size(), 3U);
  EXPECT_FALSE(world.sink.passes[1].superseded);
  EXPECT_EQ(world.sink.passes[1].blocks.size(), 2U);
  EXPECT_TRUE(world.sink.passes[2].superseded);
  EXPECT_TRUE(world.has_note(kBindingChanged));
}

TEST(Endings, a_file_changed_in_the_middle_stops_with_a_mismatch_under_either_reuse) {
  for (const auto reuse : {record::WorkerReuse::kReuse, record::WorkerReuse::kFreshPerPass}) {
    auto manifest = small_manifest();
    manifest.protocol.workers = reuse;
    World world(manifest);
    world.files = {{"file/A", "11"}, {"input/w1", "22"}};
    world.script.at_slot = [&](const std::string&, std::int64_t call) {
      if (call == 9) world.files["file/A"] = "33";  // in the first measured pass
    };
    const auto result = world.run();
    ASSERT_TRUE(result.error);
    EXPECT_EQ(*result.error, ErrorCode::kMismatch);
    EXPECT_NE(result.text.find("file/A"), std::string::npos) << result.text;
    EXPECT_EQ(violation(world, result), "");
    EXPECT_TRUE(world.has_note(kBindingChanged));
    EXPECT_EQ(*world.resume(result.record).error, ErrorCode::kMismatch);
    world.files["file/A"] = "11";
    EXPECT_FALSE(world.resume(result.record).error);
  }
}

TEST(Endings, a_file_changed_in_the_last_pass_is_found_at_the_end) {
  World world;
  world.files = {{"file/weights", "11"}};
  world.script.at_slot = [&](const std::string&, std::int64_t call) {
    if (call == 23) world.files["file/weights"] = "33";
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kMismatch);
  EXPECT_EQ(world.script.slots, 24);
}

TEST(Endings, a_reused_worker_whose_program_was_rebuilt_is_found_at_the_next_pass) {
  auto manifest = small_manifest();
  manifest.protocol.workers = record::WorkerReuse::kReuse;
  World world(manifest);
  world.script.at_slot = [&](const std::string&, std::int64_t call) {
    if (call == 9) {
      world.script.library["A"] = "deleted";
    }
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kMismatch);
  EXPECT_EQ(violation(world, result), "");
}

TEST(Endings, a_stop_on_request_keeps_the_slots_before_it) {
  World world;
  world.stop = [&] { return world.script.slots >= 11; };
  world.script.at_slot = [](const std::string&, std::int64_t) {};
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kBroken);
  EXPECT_EQ(result.state, RunState::kStopped);
  EXPECT_EQ(violation(world, result), "");
  const auto& block = world.sink.passes[1].blocks[0];
  EXPECT_TRUE(block.failed);
  EXPECT_EQ(block.slots.size(), 3U);
  EXPECT_EQ(world.script.slots, 11);
}

TEST(Endings, the_request_limit_stops_after_the_current_block) {
  auto manifest = small_manifest();
  manifest.protocol.limits.max_requests = 2 * 4 * 4 * 3;  // just what is planned
  World world(manifest);
  world.environment.tainted_slots = {8};  // a repeated block makes it more
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.state, RunState::kStopped);
  EXPECT_NE(result.text.find("max_requests"), std::string::npos);
  EXPECT_EQ(violation(world, result), "");
  for (const auto& block : world.sink.passes.back().blocks) {
    EXPECT_EQ(block.slots.size(), 4U);
  }
}

TEST(Endings, a_run_that_cannot_fit_is_refused_after_feasibility) {
  auto manifest = small_manifest();
  manifest.protocol.passes = 12;
  manifest.protocol.limits.max_wall_s = 5;  // 13 passes of about 0.9 s
  World world(manifest);
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);
  EXPECT_FALSE(result.measured);
  EXPECT_NE(result.text.find("quick"), std::string::npos) << result.text;
}

TEST(Endings, taint_is_repeated_once_kept_or_aborts) {
  World repeat;
  repeat.environment.tainted_slots = {9};
  EXPECT_FALSE(repeat.run().error);
  ASSERT_EQ(repeat.sink.passes[1].blocks.size(), 3U);
  EXPECT_EQ(repeat.sink.passes[1].blocks[0].taint, "affinity-lost");
  EXPECT_EQ(repeat.sink.passes[1].blocks[1].taint, "");
  EXPECT_EQ(repeat.sink.passes[1].blocks[0].slot_order, repeat.sink.passes[1].blocks[1].slot_order);
  EXPECT_TRUE(repeat.has_note(kBlockRepeated));

  auto manifest = small_manifest();
  manifest.protocol.on_taint = record::OnTaint::kKeep;
  World keep(manifest);
  keep.environment.tainted_slots = {9};
  EXPECT_FALSE(keep.run().error);
  EXPECT_EQ(keep.sink.passes[1].blocks.size(), 2U);

  manifest.protocol.on_taint = record::OnTaint::kAbort;
  World abort_run(manifest);
  abort_run.environment.tainted_slots = {9};
  const auto result = abort_run.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.state, RunState::kStopped);
  EXPECT_EQ(violation(abort_run, result), "");
}

TEST(Endings, preflight_refuses_what_is_not_as_asked) {
  World fell_back;
  fell_back.script.effective = {{"speed", "slow"}};
  auto result = fell_back.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);
  EXPECT_NE(result.text.find("speed = fast"), std::string::npos) << result.text;
  EXPECT_EQ(fell_back.script.slot_letters("w1"), "");

  World no_load;
  no_load.script.capabilities = {"outputs"};
  result = no_load.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);

  World elsewhere;
  elsewhere.script.cpus = {0, 1};
  result = elsewhere.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);

  World dies;
  dies.script.at_start = [](const std::string&, int) {
    throw Error(ErrorCode::kBroken, "A", "cannot be started");
  };
  result = dies.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);
  EXPECT_TRUE(dies.sink.finished);
  EXPECT_FALSE(result.measured);
}

TEST(Endings, a_full_disk_at_any_moment_ends_as_broken_and_never_throws) {
  World whole;
  whole.run();
  const int calls = whole.sink.calls;
  for (int n = 0; n < calls; ++n) {
    World world;
    world.sink.fail_after = n;
    const auto result = world.run();
    ASSERT_TRUE(result.error) << n;
    EXPECT_EQ(*result.error, ErrorCode::kBroken) << n << ": " << result.text;
    EXPECT_NE(result.text.find("No space"), std::string::npos) << n << ": " << result.text;
  }
}

TEST(Endings, differing_slot_results_under_a_bitwise_rule_are_invalid) {
  World world;
  world.script.at_slot = [&](const std::string&, std::int64_t call) {
    if (call == 9) {
      world.script.digest["B"] = "drifted";
    }
  };
  EXPECT_FALSE(world.run().error);
  EXPECT_TRUE(world.has_note(kSlotDigestsDiffer));
  EXPECT_TRUE(world.has_note(kDigestUnsteady));
}

TEST(Endings, canary_a_forgotten_end_of_a_pass_is_seen) {
  World world;
  const auto result = world.run();
  world.sink.passes[1].end_ns = 0;
  EXPECT_NE(violation(world, result), "");
}

TEST(Endings, failed_requests_are_kept_and_noted) {
  World world;
  world.script.failures = 2;
  const auto result = world.run();
  EXPECT_FALSE(result.error);
  EXPECT_EQ(world.sink.passes[1].blocks[0].slots[0].failures, 2);
  EXPECT_TRUE(world.has_note(kRequestsFailed));
}

}  // namespace
}  // namespace abba::run
