// Runs put together from stored passes: what a swap of labels does, and that ids never meet.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/calibration/pass_pool.h"
#include "harness/stats/analyze.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::calibration {
namespace {

record::RunRecord run_with(double effect, std::uint64_t seed) {
  synthetic::Spec spec;
  spec.workloads = {"w"};
  spec.effect = effect;
  spec.seed = seed;
  spec.requests = 8;
  spec.equal_arms = true;
  auto run = synthetic::make_run(spec);
  for (const auto& pass : run.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        const double own = static_cast<double>(slot.id) * 10;
        run.environment.push_back({slot.id, slot.end_ns, "after", "mark", own, "", ""});
      }
    }
  }
  return run;
}

std::vector<double> effects(const record::RunRecord& run) {
  return stats::analyze(run, {.same_hash_law = false}).verdicts.front().pass_effects;
}

TEST(PassPool, a_swap_changes_the_sign_of_a_pass_and_nothing_else) {
  const auto run = run_with(0.1, 3);
  const PassPool pool({run});
  ASSERT_EQ(pool.size(), 12U);
  base::Random random(5);
  const auto relabelled = effects(pool.relabelled(0, random));
  const auto original = effects(run);
  ASSERT_EQ(relabelled.size(), original.size());
  int swapped = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    EXPECT_DOUBLE_EQ(std::fabs(relabelled[i]), std::fabs(original[i])) << i;
    swapped += relabelled[i] * original[i] < 0;
  }
  EXPECT_GT(swapped, 0);
  EXPECT_LT(swapped, 12);
}

TEST(PassPool, drawn_passes_keep_the_arms_apart) {
  const PassPool pool({run_with(0.1, 3), run_with(0.1, 4)});
  ASSERT_EQ(pool.size(), 24U);
  base::Random random(1);
  int turned = 0;
  for (int i = 0; i < 8; ++i) {
    const auto found = effects(pool.drawn(12, random));
    ASSERT_EQ(found.size(), 12U);
    for (const double effect : found) {
      EXPECT_EQ(effect > 0, found.front() > 0) << "one coin for the whole run";
    }
    turned += found.front() < 0;
  }
  EXPECT_GT(turned, 0);
  EXPECT_LT(turned, 8);
  EXPECT_EQ(effects(pool.drawn(100, random)).size(), 24U) << "no more than there are";
}

TEST(PassPool, ids_never_meet_and_readings_follow_their_slot) {
  const PassPool pool({run_with(0, 3), run_with(0, 3)});
  base::Random random(1);
  const auto run = pool.drawn(24, random);
  std::set<std::int64_t> slots;
  std::set<std::int64_t> workers;
  std::size_t count = 0;
  for (const auto& pass : run.passes) {
    std::set<std::int64_t> here;
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        ++count;
        slots.insert(slot.id);
        here.insert(slot.worker);
        EXPECT_EQ(slot.block, block.id);
      }
    }
    for (const auto worker : here) {
      EXPECT_TRUE(workers.insert(worker).second) << "a worker of another pass";
    }
  }
  EXPECT_EQ(slots.size(), count);
  EXPECT_EQ(run.environment.size(), count);
  for (const auto& reading : run.environment) {
    EXPECT_EQ(slots.count(reading.slot), 1U);
    EXPECT_EQ(static_cast<std::int64_t>(reading.value) / 10,
              reading.slot % (std::int64_t{1} << 32));
  }
}

TEST(PassPool, a_superseded_pass_is_not_in_the_pool) {
  auto run = run_with(0, 3);
  run.passes[2].superseded = true;
  EXPECT_EQ(PassPool({run}).size(), 11U);
}

}  // namespace
}  // namespace abba::calibration
