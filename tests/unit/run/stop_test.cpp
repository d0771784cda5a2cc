// Ctrl-C between the steps that come before a block: workers starting, outputs being checked.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

using record::RunState;

// A stop once the workers' log holds a line that begins so; "" = from the start.
void stop_after(World& world, const std::string& line) {
  world.stop = [&world, line] {
    const auto& log = world.script.log;
    return line.empty() || std::any_of(log.begin(), log.end(), [&](const std::string& seen) {
             return seen.rfind(line, 0) == 0;
           });
  };
}

TEST(Stop, before_anything_is_timed_leaves_no_start_and_no_slot) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "before worker A was started"},
      {"start A", "before worker A was loaded"},
      {"start B", "before worker B was loaded"},
      {"outputs A w1", "before the outputs of arm A for w2"},
      {"outputs A w2", "before the outputs of arm A in reversed order"},
      {"outputs B w1", "before the outputs of arm B for w2"},
  };
  for (const auto& [line, text] : cases) {
    World world;
    stop_after(world, line);
    const auto result = world.run();
    ASSERT_TRUE(result.error) << line;
    EXPECT_EQ(*result.error, base::ErrorCode::kBroken) << line;
    EXPECT_EQ(result.state, RunState::kStopped) << line;
    EXPECT_NE(result.text.find(text), std::string::npos) << line << ": " << result.text;
    EXPECT_FALSE(result.started) << line;
    EXPECT_FALSE(result.measured) << line;
    EXPECT_EQ(world.script.slots, 0) << line;
    EXPECT_TRUE(world.ledger.empty()) << line;
    EXPECT_EQ(violation(world, result), "") << line;
    const auto count = [&](const std::string& word) {
      return std::count_if(world.script.log.begin(), world.script.log.end(),
                           [&](const std::string& seen) { return seen.rfind(word, 0) == 0; });
    };
    EXPECT_EQ(count("start"), count("stop")) << line << ": a worker was left behind";
    world.stop = nullptr;
    EXPECT_FALSE(world.resume(result.record).error) << line;
  }
}

TEST(Stop, while_fresh_workers_start_supersedes_the_pass_and_resumes) {
  World world;
  world.stop = [&] { return world.script.starts >= 5; };  // the second measured pass's first
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.state, RunState::kStopped);
  EXPECT_TRUE(result.started);
  EXPECT_EQ(violation(world, result), "");
  ASSERT_FALSE(world.sink.passes.empty());
  EXPECT_TRUE(world.sink.passes.back().superseded);
  EXPECT_TRUE(world.sink.passes.back().blocks.empty());
  world.stop = nullptr;
  EXPECT_FALSE(world.resume(result.record).error);
}

// A second Ctrl-C kills the worker that is waited for: no failure of the worker's own, no new try.
TEST(Stop, at_once_ends_in_order_wherever_a_worker_hangs) {
  bool pressed = false;
  const auto killed = [&pressed] {
    pressed = true;
    throw base::Error(base::ErrorCode::kBroken, "B", "was killed on request");
  };
  for (const std::int64_t slot : {3, 10, 20}) {  // feasibility, first pass, second pass
    World world;
    pressed = false;
    world.stop = world.kill = [&pressed] { return pressed; };
    world.script.at_slot = [&](const std::string&, std::int64_t call) {
      if (call == slot) killed();
    };
    const auto result = world.run();
    ASSERT_TRUE(result.error) << slot;
    EXPECT_EQ(*result.error, base::ErrorCode::kBroken);
    EXPECT_EQ(result.state, RunState::kStopped) << result.text;
    EXPECT_NE(result.text.find("at once"), std::string::npos) << result.text;
    EXPECT_FALSE(world.has_note(kWorkerFailed));
    EXPECT_EQ(world.script.slots, slot + 1) << "it went on";
    EXPECT_EQ(violation(world, result), "");
    pressed = false;
    world.script.at_slot = nullptr;
    EXPECT_FALSE(world.resume(result.record).error);
  }
  for (const int start : {1, 2, 3}) {
    World world;
    pressed = false;
    world.stop = world.kill = [&pressed] { return pressed; };
    world.script.at_start = [&](const std::string&, int count) {
      if (count == start) killed();
    };
    const auto result = world.run();
    ASSERT_TRUE(result.error) << start;
    EXPECT_EQ(*result.error, base::ErrorCode::kBroken) << result.text;
    EXPECT_EQ(result.state, RunState::kStopped);
    EXPECT_EQ(world.script.starts, start + 1) << "it went on";
  }
}

TEST(Stop, that_meets_a_full_disk_is_a_broken_run) {
  World world;
  stop_after(world, "start B");
  world.sink.fail_after = 2;
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.state, RunState::kBroken);
}

}  // namespace
}  // namespace abba::run
