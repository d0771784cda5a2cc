// Placements and cold caches: who is alive when, and what a slot then says.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

record::Manifest placed(record::Placement placement) {
  auto manifest = small_manifest();
  manifest.protocol.placement = placement;
  return manifest;
}

// The most workers between any start and its stop.
int most_alive(const std::vector<std::string>& log) {
  int alive = 0;
  int most = 0;
  for (const auto& line : log) {
    alive += line.rfind("start", 0) == 0 ? 1 : line.rfind("stop", 0) == 0 ? -1 : 0;
    most = std::max(most, alive);
  }
  return most;
}

std::set<std::int64_t> workers_of(const record::Pass& pass) {
  std::set<std::int64_t> ids;
  for (const auto& block : pass.blocks) {
    for (const auto& slot : block.slots) ids.insert(slot.worker);
  }
  return ids;
}

TEST(Placement, both_loaded_keeps_two_alive) {
  World world;
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(most_alive(world.script.log), 2);
  EXPECT_EQ(world.environment.most_workers, 2U);
}

TEST(Placement, one_at_a_time_gives_every_slot_a_worker_of_its_own_and_no_company) {
  World world(placed(record::Placement::kOneAtATime));
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(most_alive(world.script.log), 1);
  EXPECT_EQ(world.environment.most_workers, 1U);
  ASSERT_EQ(world.sink.passes.size(), 3U);
  for (const auto& pass : world.sink.passes) {
    EXPECT_EQ(workers_of(pass).size(), 2U * 4U);  // workloads, slots
  }
  EXPECT_EQ(result.record.hello.size(), 2U);
  EXPECT_GT(result.record.output_checks.size(), 0U);
}

TEST(Placement, one_at_a_time_a_worker_that_cannot_start_fails_its_pass_which_is_run_again) {
  World world(placed(record::Placement::kOneAtATime));
  bool failed = false;
  world.script.at_start = [&](const std::string&, int start) {
    if (start == 20 && !failed) {
      failed = true;
      throw base::Error(base::ErrorCode::kBroken, "B", "died during \"hello\"");
    }
  };
  const auto result = world.run();
  EXPECT_TRUE(failed);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(world.sink.passes.size(), 4U);  // feasibility, one superseded, two measured
}

TEST(Placement, one_at_a_time_a_changed_library_ends_the_run_with_the_block_kept) {
  World world(placed(record::Placement::kOneAtATime));
  world.script.at_start = [&](const std::string&, int start) {
    if (start == 20) world.script.library["A"] = world.script.library["B"] = "changed";
  };
  const auto result = world.run();
  EXPECT_EQ(result.error, base::ErrorCode::kMismatch);
  EXPECT_EQ(result.state, record::RunState::kStopped);
  const auto& block = world.sink.passes.back().blocks.back();
  EXPECT_TRUE(block.failed);
  EXPECT_NE(block.failure.find("lib.so"), std::string::npos) << block.failure;
  EXPECT_TRUE(world.sink.passes.back().superseded);
}

TEST(Placement, a_shared_process_serves_both_arms_in_the_planned_order) {
  World world(placed(record::Placement::kSharedProcess));
  world.script.library["B"] = world.script.library["A"];  // of one process, whoever is first
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(world.script.starts, 1 + 2);  // preflight, two passes
  for (const auto& pass : world.sink.passes) EXPECT_EQ(workers_of(pass).size(), 1U);
  for (const auto& worker : world.sink.workers) EXPECT_EQ(worker.arm, record::kBothArms);
  std::string planned;
  for (const auto& pass : world.sink.passes) {
    for (const auto& block : pass.blocks) {
      if (block.workload == "w1") planned += block.slot_order;
    }
  }
  EXPECT_EQ(world.script.slot_letters("w1"), planned);
  EXPECT_EQ(result.record.load.at("A").factors.at("speed"), "slow");
  EXPECT_EQ(result.record.load.at("B").factors.at("speed"), "fast");
  const auto bound = [&](const char* name) {
    return std::any_of(world.sink.bindings.begin(), world.sink.bindings.end(),
                       [&](const auto& binding) { return binding.name == name; });
  };
  EXPECT_TRUE(bound("library/A/lib.so"));
  EXPECT_TRUE(bound("library/B/lib.so"));
}

TEST(Placement, a_factor_that_is_not_hot_is_refused_before_any_timing) {
  World world(placed(record::Placement::kSharedProcess));
  world.script.hot = false;
  const auto result = world.run();
  EXPECT_EQ(result.error, base::ErrorCode::kPreflight);
  EXPECT_NE(result.text.find("cannot switch speed"), std::string::npos) << result.text;
  EXPECT_EQ(world.script.slots, 0);
}

struct Flush {
  double cold_ns;
  const char* taint;
};
class ColdCaches : public testing::TestWithParam<Flush> {};

TEST_P(ColdCaches, are_checked_in_every_slot) {
  auto manifest = small_manifest();
  manifest.protocol.cache = record::kFlushCaches;
  manifest.protocol.on_taint = record::OnTaint::kKeep;
  World world(manifest);
  world.script.capabilities.push_back("flush");
  world.script.flush = {"some cache", 1e6, 100, GetParam().cold_ns};
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  int walks = 0;
  for (const auto& reading : result.record.environment) {
    walks += reading.key == "cache.cold_walk" && reading.value == GetParam().cold_ns ? 1 : 0;
  }
  EXPECT_EQ(walks, 3 * 2 * 4);  // passes, workloads, slots
  for (const auto& block : world.sink.passes[1].blocks) EXPECT_EQ(block.taint, GetParam().taint);
}

INSTANTIATE_TEST_SUITE_P(Walks, ColdCaches,
                         testing::Values(Flush{900, ""}, Flush{149, "cache-not-cold"}));

TEST(ColdCachesAlone, a_worker_that_cannot_flush_is_refused_before_any_timing) {
  auto manifest = small_manifest();
  manifest.protocol.cache = record::kFlushCaches;
  World world(manifest);
  const auto result = world.run();
  EXPECT_EQ(result.error, base::ErrorCode::kPreflight);
  EXPECT_NE(result.text.find("cannot empty caches"), std::string::npos) << result.text;
  EXPECT_EQ(world.script.slots, 0);
}

TEST(ColdCachesAlone, warm_ones_are_not_asked_for) {
  World world;
  world.script.flush = {"some cache", 1e6, 100, 100};
  EXPECT_EQ(violation(world, world.run()), "");
  EXPECT_EQ(world.sink.passes[1].blocks[0].taint, "");
}

}  // namespace
}  // namespace abba::run
