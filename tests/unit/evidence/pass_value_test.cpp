// The SQL views and the statistics give the same value of a pass, whatever the order of its slots:
// a stranger who recomputes from the file gets what the report says.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/prng.h"
#include "harness/stats/contrasts.h"
#include "harness/store/database.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

struct Wanted {
  std::string workload;
  std::vector<std::string> orders;  // of the blocks
  std::vector<int> tainted;         // their numbers
};

class PassValue : public ::testing::Test {
 protected:
  // Two measured passes of these blocks. `interleaved`: a slot an arm, single requests alternate.
  record::RunRecord run_of(const std::vector<Wanted>& wanted, bool interleaved);
  void expect_equal(const record::RunRecord& run);

  TemporaryFolder folder_;
  base::Random random_{4};

 private:
  record::Slot slot(std::int64_t id, const record::Block& block, int position, char arm);
  void add_block(record::Pass& pass, const std::string& workload, const std::string& order,
                 bool interleaved, const std::string& taint);
};

// Durations that differ by block, position and request, so that no wrong pairing gives the value.
record::Slot PassValue::slot(std::int64_t id, const record::Block& block, int position, char arm) {
  record::Slot made;
  made.id = id;
  made.block = block.id;
  made.position = position;
  made.arm = std::string(1, arm);
  for (std::int64_t seq = 0; seq < 9; ++seq) {
    const auto duration = static_cast<std::int64_t>(1e6 * std::exp(random_.normal()));
    const bool failed = random_.below(6) == 0;
    made.samples.push_back({seq, seq < 1, 1000 * seq + static_cast<std::int64_t>(random_.below(9)),
                            duration,
                            failed ? record::SampleStatus::kFailed : record::SampleStatus::kOk});
  }
  return made;
}

void PassValue::add_block(record::Pass& pass, const std::string& workload, const std::string& order,
                          bool interleaved, const std::string& taint) {
  record::Block block;
  block.id = pass.id * 100 + static_cast<std::int64_t>(pass.blocks.size()) + 1;
  block.pass = pass.index;
  block.workload = workload;
  block.boundary = "request";
  block.slot_order = order;
  block.taint = taint;
  const std::string arms = interleaved ? "AB" : order;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto position = static_cast<int>(i);
    block.slots.push_back(slot(block.id * 10 + position, block, position, arms[i]));
    block.slots.back().start_ns = interleaved ? 1 : 10 * position + 1;
    block.slots.back().end_ns = interleaved ? 100 : 10 * position + 11;
  }
  pass.blocks.push_back(std::move(block));
}

record::RunRecord PassValue::run_of(const std::vector<Wanted>& wanted, bool interleaved) {
  record::RunRecord run = testing::random_run(7);
  run.manifest.protocol.order = interleaved ? record::Order::kInterleaved : record::Order::kAbBa;
  run.plan.passes.clear();
  run.passes.clear();
  run.environment.clear();
  for (int index = 0; index < 2; ++index) {
    record::Pass& pass = run.passes.emplace_back();
    pass.id = index + 1;
    pass.index = index;
    pass.start_ns = 1 + index;
    pass.end_ns = 10 + index;
    for (const Wanted& want : wanted) {
      for (std::size_t i = 0; i < want.orders.size(); ++i) {
        const bool tainted = std::count(want.tainted.begin(), want.tainted.end(), i) > 0;
        add_block(pass, want.workload, want.orders[i], interleaved, tainted ? "load" : "");
      }
    }
  }
  return run;
}

void PassValue::expect_equal(const record::RunRecord& run) {
  const std::string path = folder_.file("run.sqlite");
  store::RunFile file = store::RunFile::create(path, run, testing::texts_of(run));
  std::vector<const record::Pass*> passes;
  for (const record::Pass& pass : run.passes) {
    passes.push_back(&pass);
    file.begin_pass(pass);
    for (const record::Block& block : pass.blocks) file.commit_block(pass.id, block, {}, {});
    file.end_pass(pass.id, pass.end_ns);
  }
  store::Database database(path, store::Database::Mode::kRead);
  int compared = 0;
  for (const std::string workload : {"w1", "w2"}) {
    const auto expected = stats::contrasts(run, passes, workload, {"latency", "", false});
    ASSERT_EQ(expected.passes.size(), 2U);
    for (const stats::PassValue& pass : expected.passes) {
      store::Statement row = database.prepare(
          "SELECT pass_value FROM v_verdict_input WHERE workload = ? AND pass_index = ?");
      row.bind(0, workload);
      row.bind(1, std::int64_t{pass.index});
      ASSERT_TRUE(row.step()) << workload;
      EXPECT_NEAR(row.real(0), pass.effect, 1e-12) << workload << " pass " << pass.index;
      EXPECT_FALSE(row.step());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4);
}

TEST_F(PassValue, NeighboursOfOppositeOrderAreOneContrast) {
  expect_equal(
      run_of({{"w1", {"AB", "BA", "AB", "BA"}, {}}, {"w2", {"BA", "AB", "BA"}, {}}}, false));
}

TEST_F(PassValue, WhatDoesNotAlternateStandsAlone) {
  expect_equal(run_of(
      {{"w1", {"AB", "AB", "BA", "BA", "BA", "AB", "AB"}, {}}, {"w2", {"BA", "BA", "BA"}, {}}},
      false));
}

TEST_F(PassValue, WholeBlocksAndPairsMix) {
  expect_equal(run_of(
      {{"w1", {"ABBA", "BAAB", "ABBA"}, {}}, {"w2", {"AB", "ABBA", "BA", "AB", "BAAB", "BA"}, {}}},
      false));
}

// A tainted block leaves, and its neighbours meet; where every block is tainted, all are used.
TEST_F(PassValue, TaintedBlocksLeaveUnlessAllAre) {
  expect_equal(run_of(
      {{"w1", {"AB", "BA", "BA", "AB", "BA"}, {1, 4}}, {"w2", {"AB", "BA", "AB"}, {0, 1, 2}}},
      false));
}

TEST_F(PassValue, InterleavedRequestsPairWithinTheirBlock) {
  expect_equal(run_of({{"w1", {"ABBA", "BAAB", "ABBA"}, {}}, {"w2", {"AB", "BA"}, {0}}}, true));
}

// Canary: without the pairing the value is another one.
TEST_F(PassValue, CanaryThePairingMatters) {
  const record::RunRecord run =
      run_of({{"w1", {"AB", "BA", "AB", "BA"}, {}}, {"w2", {"AB", "BA"}, {}}}, false);
  expect_equal(run);
  store::Database database(folder_.file("run.sqlite"), store::Database::Mode::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_contrast"), 12);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_pass_contrast"), 6);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_pass_contrast WHERE items = 2"), 6);
}

}  // namespace
}  // namespace abba::evidence
