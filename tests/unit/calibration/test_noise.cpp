// The noise budget on runs whose spread is known.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/calibration/noise.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::calibration {
namespace {

std::vector<record::RunRecord> runs(int count, double process_sd, double block_sd) {
  std::vector<record::RunRecord> all;
  for (int i = 0; i < count; ++i) {
    synthetic::Spec spec;
    spec.workloads = {"w"};
    spec.requests = 6;
    spec.process_sd = process_sd;
    spec.block_sd = block_sd;
    spec.request_sd = 1e-5;
    spec.equal_arms = true;
    spec.seed = 70 + static_cast<std::uint64_t>(i);
    all.push_back(synthetic::make_run(spec));
  }
  return all;
}

TEST(Noise, is_that_of_passes_and_of_blocks) {
  // Two processes a pass: sd of the difference is sqrt(2) x 0.01. A block contrast has four slots.
  const auto noise = noise_of(runs(20, 0.01, 0.004));
  ASSERT_EQ(noise.size(), 1U);
  EXPECT_EQ(noise[0].runs, 20);
  EXPECT_EQ(noise[0].passes, 240);
  EXPECT_NEAR(noise[0].block_sd, 0.004, 0.0004);
  EXPECT_NEAR(noise[0].pass_sd, std::sqrt(2 * 1e-4 + 0.004 * 0.004 / 4), 0.0015);
  EXPECT_NEAR(noise[0].request_ns, 1.5e6, 2e4);
}

// A block that failed is in no statistic; the passes around it count by their other blocks.
TEST(Noise, a_failed_or_tainted_block_does_not_count) {
  const auto good = noise_of(runs(2, 0.01, 0.004));
  for (const bool failed : {true, false}) {
    auto all = runs(2, 0.01, 0.004);
    for (auto& run : all) {
      // One more block than planned, so that the pass stays whole: far slower in B.
      record::Block bad = run.passes[0].blocks[0];
      (failed ? bad.failure : bad.taint) = "cpu-load";
      bad.failed = failed;
      for (record::Slot& slot : bad.slots) {
        for (record::Sample& sample : slot.samples) {
          sample.duration_ns *= slot.arm == "B" ? 3 : 1;
        }
      }
      run.passes[0].blocks.push_back(bad);
    }
    const auto noise = noise_of(all);
    ASSERT_EQ(noise.size(), 1U);
    EXPECT_EQ(noise[0].passes, good[0].passes);
    EXPECT_DOUBLE_EQ(noise[0].block_sd, good[0].block_sd) << (failed ? "failed" : "tainted");
    EXPECT_DOUBLE_EQ(noise[0].request_ns, good[0].request_ns);
  }
}

TEST(Noise, experiments_are_named_once) {
  auto all = runs(3, 0.01, 0.004);
  all[1].manifest.id = "a";
  all[2].manifest.id = "a";
  EXPECT_EQ(noise_of(all)[0].manifests, (std::set<std::string>{"a", "synthetic"}));
}

TEST(Noise, a_worker_is_ready_after_all_its_steps) {
  record::WorkerProcess worker;
  EXPECT_EQ(ready_seconds(worker), 0);
  worker.setup_ns = {{"load", 1.5e9}, {"first_request", 0.25e9}};
  EXPECT_DOUBLE_EQ(ready_seconds(worker), 1.75);
}

TEST(Noise, only_equal_arms_of_fresh_workers_tell_it) {
  auto all = runs(3, 0.01, 0.004);
  all[0].bindings[1].value = std::string(64, 'b');
  all[1].manifest.protocol.workers = record::WorkerReuse::kReuse;
  EXPECT_FALSE(tells_noise(all[0]));
  EXPECT_FALSE(tells_noise(all[1]));
  ASSERT_TRUE(tells_noise(all[2]));
  EXPECT_EQ(noise_of(all)[0].runs, 1);
}

TEST(Noise, the_same_subject_goes_before_another) {
  auto all = runs(2, 0.01, 0.004);
  all[1].manifest.settings.set("threads", 4);
  all[1].manifest.protocol.blocks = 2;
  const auto noise = noise_of(all);
  ASSERT_EQ(noise.size(), 2U);
  EXPECT_EQ(noise_for(noise, all[1].manifest, "w"), &noise[1]);
  record::Manifest wanted = all[1].manifest;
  wanted.protocol.blocks = 4;
  EXPECT_EQ(noise_for(noise, wanted, "w"), &noise[1]) << "the subject counts more than the blocks";
  EXPECT_EQ(noise_for(noise, wanted, "v"), nullptr);
}

TEST(BestBlocks, follows_the_costs_and_the_spread) {
  WorkloadNoise noise;
  noise.blocks = 4;
  noise.pass_s = 2;
  noise.block_s = 0.5;
  noise.block_sd = 0.02;
  noise.pass_sd = std::sqrt(1e-4 + 4e-4 / 4);  // 0.01 of the pass itself
  EXPECT_EQ(best_blocks(noise), 4) << "sqrt(2 / 0.5 x 4e-4 / 1e-4)";
  noise.pass_s = 8;
  EXPECT_EQ(best_blocks(noise), 8);
  noise.pass_sd = 0.02 / 2;  // nothing is left beside the blocks' share
  EXPECT_EQ(best_blocks(noise), 64);
  noise.block_s = 0;
  EXPECT_EQ(best_blocks(noise), 0) << "not known";
}

}  // namespace
}  // namespace abba::calibration
