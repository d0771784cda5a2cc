#include "harness/run/later_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

using base::Error;
using base::ErrorCode;

record::Manifest capturing(const std::string& pass = "{}") {
  auto manifest = small_manifest();
  manifest.graph_capture = base::parse_json(pass, "graph_capture");
  return manifest;
}

World capturing_world(const std::string& pass = "{}") {
  World world(capturing(pass));
  world.script.capabilities.emplace_back("graph_capture");
  return world;
}

std::vector<std::string> captured(const World& world) {
  std::vector<std::string> names;
  for (const auto& row : world.sink.graph_captures) {
    names.push_back(row.arm + "/" + row.workload);
  }
  return names;
}

const record::Pass* capture_pass(const World& world) {
  for (const auto& pass : world.sink.passes) {
    if (pass.phase == record::Phase::kGraphCapture && !pass.superseded) {
      return &pass;
    }
  }
  return nullptr;
}

// Of rows whose pass was superseded nothing counts: its workers have smaller ids than the pass that
// was made in its place.
std::vector<std::string> counted(const World& world) {
  std::vector<std::string> names;
  for (const auto& row : world.sink.graph_captures) {
    if (capture_pass(world) != nullptr && row.worker > capture_pass(world)->id) {
      names.push_back(row.arm + "/" + row.workload);
    }
  }
  return names;
}

const std::vector<std::string> kAll = {"A/w1", "A/w2", "B/w1", "B/w2"};

int complete_measured(const World& world) {
  return static_cast<int>(
      std::count_if(world.sink.passes.begin(), world.sink.passes.end(), [](const auto& pass) {
        return pass.phase == record::Phase::kMeasured && !pass.superseded && pass.end_ns > 0;
      }));
}

// What happened from the start of the first worker of the pass.
std::vector<std::string> log_of_pass(const World& world) {
  const auto& log = world.script.log;
  auto first = std::find_if(log.begin(), log.end(),
                            [](const auto& line) { return line.rfind("capture", 0) == 0; });
  while (first != log.begin() && (*first).rfind("start", 0) != 0) --first;
  return {first, log.end()};
}

TEST(LaterPasses, run_after_all_measured_ones_one_fresh_worker_an_arm) {
  World world = capturing_world();
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(log_of_pass(world),
            (std::vector<std::string>{"start A", "capture A w1", "capture A w2", "stop A",
                                      "start B", "capture B w1", "capture B w2", "stop B"}));
  EXPECT_EQ(captured(world), kAll);
  EXPECT_EQ(counted(world), kAll);
  ASSERT_NE(capture_pass(world), nullptr);
  EXPECT_GT(capture_pass(world)->end_ns, 0);
  EXPECT_TRUE(capture_pass(world)->blocks.empty());
}

TEST(LaterPasses, a_manifest_that_names_none_has_none) {
  World world(small_manifest());
  world.script.capabilities.emplace_back("graph_capture");
  world.run();
  EXPECT_EQ(capture_pass(world), nullptr);
  EXPECT_TRUE(world.sink.graph_captures.empty());
}

TEST(LaterPasses, only_the_named_arms_and_workloads) {
  World world = capturing_world(R"({"arms": ["B"], "workloads": ["w2"]})");
  world.run();
  EXPECT_EQ(captured(world), (std::vector<std::string>{"B/w2"}));
  EXPECT_EQ(log_of_pass(world), (std::vector<std::string>{"start B", "capture B w2", "stop B"}));
}

// The same in every placement: also where both arms were one process.
TEST(LaterPasses, no_timed_sample_is_taken_in_their_workers) {
  for (const auto placement : {record::Placement::kBothLoaded, record::Placement::kOneAtATime,
                               record::Placement::kSharedProcess}) {
    World world = capturing_world();
    world.manifest.protocol.placement = placement;
    if (placement == record::Placement::kSharedProcess) {
      world.script.library["B"] = world.script.library["A"];  // of one program
    }
    const auto result = world.run();
    ASSERT_FALSE(result.error) << result.text;
    std::set<std::int64_t> timed;
    for (const auto& pass : world.sink.passes) {
      for (const auto& block : pass.blocks) {
        for (const auto& slot : block.slots) timed.insert(slot.worker);
      }
    }
    ASSERT_EQ(world.sink.graph_captures.size(), 4U);
    EXPECT_FALSE(timed.empty());
    for (const auto& row : world.sink.graph_captures) {
      EXPECT_EQ(timed.count(row.worker), 0U);
      const auto process = std::find_if(world.sink.workers.begin(), world.sink.workers.end(),
                                        [&](const auto& other) { return other.id == row.worker; });
      ASSERT_NE(process, world.sink.workers.end());
      EXPECT_EQ(process->pass, record::kLaterPass);
      EXPECT_EQ(process->arm, row.arm);
    }
  }
}

TEST(LaterPasses, a_missing_capability_is_a_note_and_starts_nothing) {
  World world(capturing());
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_TRUE(world.has_note(kLaterPassUnable));
  EXPECT_FALSE(world.has_note(kLaterPassFailed));
  EXPECT_EQ(world.script.starts, 2 + 2 + 2);  // preflight and two measured passes
  ASSERT_NE(capture_pass(world), nullptr);
}

TEST(LaterPasses, run_after_a_look_that_ends_the_measuring) {
  World world = capturing_world();
  world.manifest.protocol.passes = 4;
  world.looks = {2, 4};
  world.look = [](const record::RunRecord&) { return LookAnswer{true, "all decided"}; };
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_TRUE(world.has_note(kStoppedAtLook));
  EXPECT_EQ(complete_measured(world), 2);
  EXPECT_EQ(world.sink.graph_captures.size(), 4U);
}

TEST(LaterPasses, a_worker_that_dies_leaves_what_it_answered_and_the_other_arm) {
  World world = capturing_world();
  world.script.at_capture = [](const std::string& arm, const std::string& workload) {
    if (arm == "A" && workload == "w2") {
      throw Error(ErrorCode::kBroken, "A", "died during \"graph_capture\" with signal 9");
    }
  };
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(result.state, record::RunState::kFinished);
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(captured(world), (std::vector<std::string>{"A/w1", "B/w1", "B/w2"}));
  EXPECT_EQ(complete_measured(world), 2);
  ASSERT_TRUE(world.has_note(kLaterPassFailed));
  const auto& note = world.sink.notes.back();
  EXPECT_EQ(note.where, "graph_capture pass 1, arm A");
  EXPECT_NE(note.text.find("signal 9"), std::string::npos);
}

TEST(LaterPasses, a_worker_that_cannot_start_or_is_another_program_has_no_part) {
  for (const bool other_program : {false, true}) {
    World world = capturing_world();
    world.script.at_start = [&](const std::string& arm, int start) {
      if (start < 6 || arm != "A") return;
      if (!other_program) throw Error(ErrorCode::kBroken, "A", "could not be started");
      world.script.library["A"] = "rebuilt";
    };
    const auto result = world.run();
    EXPECT_FALSE(result.error) << result.text;
    EXPECT_EQ(captured(world), (std::vector<std::string>{"B/w1", "B/w2"})) << other_program;
    EXPECT_TRUE(world.has_note(kLaterPassFailed));
    EXPECT_EQ(complete_measured(world), 2);
  }
}

TEST(LaterPasses, a_refused_workload_leaves_the_others) {
  World world = capturing_world();
  world.script.at_capture = [](const std::string&, const std::string& workload) {
    if (workload == "w1") throw Error(ErrorCode::kPreflight, "A", "refused \"graph_capture\"");
  };
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(captured(world), (std::vector<std::string>{"A/w2", "B/w2"}));
  EXPECT_TRUE(world.has_note(kLaterPassFailed));
}

TEST(LaterPasses, a_stop_in_one_is_made_up_for_when_the_run_goes_on) {
  World world = capturing_world();
  world.stop = [&world] { return !world.sink.graph_captures.empty(); };
  const auto record = world.run().record;
  EXPECT_EQ(record.state, record::RunState::kStopped);
  EXPECT_EQ(captured(world), (std::vector<std::string>{"A/w1"}));
  EXPECT_EQ(capture_pass(world), nullptr);  // superseded
  world.stop = nullptr;
  const auto slots = world.script.slots;
  const auto result = world.resume(record);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(world.script.slots, slots);  // nothing is measured again
  ASSERT_NE(capture_pass(world), nullptr);
  EXPECT_EQ(captured(world), (std::vector<std::string>{"A/w1", "A/w1", "A/w2", "B/w1", "B/w2"}));
  EXPECT_EQ(counted(world), kAll);
}

TEST(LaterPasses, a_run_killed_in_one_goes_on_with_it) {
  World world = capturing_world();
  auto record = world.run().record;
  ASSERT_EQ(record.passes.back().phase, record::Phase::kGraphCapture);
  record.passes.back().end_ns = 0;  // as after SIGKILL
  record.graph_captures.resize(1);
  const auto slots = world.script.slots;
  const auto result = world.resume(record);
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(world.script.slots, slots);
  EXPECT_EQ(counted(world), kAll);
}

TEST(LaterPasses, one_that_ended_is_not_made_again) {
  World world = capturing_world();
  auto record = world.run().record;
  record.state = record::RunState::kStopped;
  world.resume(record);
  EXPECT_EQ(world.sink.graph_captures.size(), 4U);
}

TEST(LaterPasses, the_time_limit_stops_between_two_arms) {
  World world = capturing_world();
  world.manifest.protocol.limits.max_wall_s = 3600;
  world.script.at_capture = [&world](const std::string&, const std::string&) {
    world.clock.advance_ns(3'600'000'000'000);
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.text.find("max_wall_s"), std::string::npos);
  EXPECT_EQ(complete_measured(world), 2);
  EXPECT_EQ(captured(world), (std::vector<std::string>{"A/w1", "A/w2"}));
  EXPECT_EQ(capture_pass(world), nullptr);  // superseded
}

// The plan may need exactly as many requests as are allowed; a later pass makes none that counts.
TEST(LaterPasses, the_request_limit_is_none_of_theirs) {
  World world = capturing_world();
  world.run();
  World exact = capturing_world();
  std::int64_t requests = 0;
  for (const auto& pass : world.sink.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        requests += static_cast<std::int64_t>(slot.samples.size());
      }
    }
  }
  exact.manifest.protocol.limits.max_requests = requests;
  const auto result = exact.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(captured(exact), kAll);
}

TEST(LaterPasses, a_full_disk_in_one_breaks_the_run) {
  World whole = capturing_world();
  whole.run();
  const auto first = std::find(whole.sink.kinds.begin(), whole.sink.kinds.end(), "graph capture");
  ASSERT_NE(first, whole.sink.kinds.end());
  World world = capturing_world();
  world.script.at_capture = [&world](const std::string&, const std::string&) {
    world.sink.fail_after = world.sink.calls;
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kBroken);
  EXPECT_FALSE(world.sink.finished);
}

}  // namespace
}  // namespace abba::run
