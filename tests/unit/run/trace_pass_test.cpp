#include "harness/run/trace_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"
#include "tests/unit/trace/trace_bytes.h"

namespace abba::run {
namespace {

record::Manifest traced(const std::string& pass) {
  auto manifest = small_manifest();
  manifest.traces = base::parse_json(pass, "traces");
  return manifest;
}

// Workers that are injected write a kernel of a microsecond into the middle of each request.
struct TracedWorld : World {
  explicit TracedWorld(const std::string& pass = R"({"warmup": 1, "requests": 2})")
      : World(traced(pass)) {
    tracer.library = "/lib/libabba_trace.so";
    tracer.cupti = "/lib/libcupti.so.13";
    script.at_slot = [this](const std::string& arm, std::int64_t) { write(arm); };
  }

  void write(const std::string& arm) {
    const auto file = script.environment.find("ABBA_TRACE_FILE");
    if (file == script.environment.end()) {
      return;
    }
    if (!std::filesystem::exists(file->second)) {
      bytes = testing::TraceBytes();
      bytes.name(1, "kernel_of_" + arm);
    }
    const auto request_ns = static_cast<std::int64_t>(script.request_ns.at(arm));
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto at =
          static_cast<std::uint64_t>(clock.steady_ns() + i * request_ns + request_ns / 2);
      bytes.kernel(1, at, at + 1000);
    }
    traced_arms.push_back(arm);
    testing::TraceBytes whole = bytes;
    std::ofstream(file->second, std::ios::binary) << whole.end().bytes;
  }

  [[nodiscard]] std::vector<record::Block> blocks() const {
    for (const auto& pass : sink.passes) {
      if (pass.phase == record::Phase::kTrace && !pass.superseded) return pass.blocks;
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> notes_of(std::string_view code) const {
    std::vector<std::string> found;
    for (const auto& note : sink.notes) {
      if (note.code == code) found.push_back(note.where + ": " + note.text);
    }
    return found;
  }

  testing::TraceBytes bytes;
  std::vector<std::string> traced_arms;
};

TEST(TracePass, StoresTheRowsOfEachArmAndWorkload) {
  TracedWorld world;
  const RunResult result = world.run();
  EXPECT_EQ(result.state, record::RunState::kFinished) << result.text;
  EXPECT_EQ(violation(world, result), "");
  const auto blocks = world.blocks();
  ASSERT_EQ(blocks.size(), 4U);
  std::string seen;
  for (const auto& block : blocks) {
    const auto& slot = block.slots.at(0);
    seen += slot.arm + block.workload + " ";
    EXPECT_EQ(block.slot_order, slot.arm);
    EXPECT_EQ(slot.samples.size(), 3U);
    ASSERT_EQ(slot.trace.kernels.size(), 2U);  // not the warm-up's
    EXPECT_EQ(slot.trace.kernels.front().name, "kernel_of_" + slot.arm);
    const auto worker = std::find_if(world.sink.workers.begin(), world.sink.workers.end(),
                                     [&](const auto& w) { return w.id == slot.worker; });
    ASSERT_NE(worker, world.sink.workers.end());
    EXPECT_EQ(worker->pass, record::kLaterPass);
  }
  EXPECT_EQ(seen, "Aw1 Aw2 Bw1 Bw2 ");
  const auto& readings = result.record.environment;
  const auto stored = std::count_if(readings.begin(), readings.end(), [](const auto& reading) {
    return reading.key == record::kTraceRequests && reading.value == 2;
  });
  EXPECT_EQ(stored, 4);
  EXPECT_EQ(result.record.passes.back().blocks.size(), 4U);
}

TEST(TracePass, OnlyItsWorkersAreInjected) {
  TracedWorld world;
  std::vector<std::string> injected;
  world.script.at_start = [&](const std::string& arm, int) {
    if (world.script.environment.count("CUDA_INJECTION64_PATH") != 0) injected.push_back(arm);
  };
  world.run();
  EXPECT_EQ(injected, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(world.traced_arms, (std::vector<std::string>{"A", "A", "B", "B"}));
  EXPECT_EQ(world.script.environment.at("NVTX_INJECTION64_PATH"), "/lib/libcupti.so.13");
}

TEST(TracePass, WithoutATracerItIsANoteAndNoWorkerIsStarted) {
  TracedWorld world;
  world.tracer.lack = "no libcupti.so.13 was found";
  const RunResult result = world.run();
  EXPECT_EQ(result.state, record::RunState::kFinished);
  EXPECT_EQ(world.notes_of(kLaterPassUnable),
            (std::vector<std::string>{
                "trace pass 1, arm A: worker A cannot be traced here: no libcupti.so.13 was found",
                "trace pass 1, arm B: worker B cannot be traced here: no libcupti.so.13 was "
                "found"}));
  EXPECT_TRUE(world.traced_arms.empty());
}

TEST(TracePass, AWorkerThatNeverUsesCudaIsANote) {
  TracedWorld world;
  world.script.at_slot = nullptr;
  const RunResult result = world.run();
  EXPECT_EQ(result.state, record::RunState::kFinished);
  EXPECT_EQ(world.notes_of(kNothingTraced).size(), 2U);
  EXPECT_TRUE(world.blocks().empty());
}

TEST(TracePass, OneThatRunsNothingInItsRequestsIsANoteOfTheSlot) {
  TracedWorld world(R"({"workloads": ["w2"], "arms": ["A"]})");
  world.script.at_slot = [&](const std::string&, std::int64_t) {
    const auto file = world.script.environment.find("ABBA_TRACE_FILE");
    if (file != world.script.environment.end()) {
      std::ofstream(file->second, std::ios::binary) << testing::TraceBytes().end().bytes;
    }
  };
  world.run();
  EXPECT_EQ(world.notes_of(kNothingTraced),
            std::vector<std::string>{"w2, arm A: no kernel and no copy ran in its requests"});
  ASSERT_EQ(world.blocks().size(), 1U);
  EXPECT_EQ(world.blocks().front().slots.front().samples.size(), 5U + 10U);  // the defaults
}

TEST(TracePass, WhatWasTracedBeforeAWorkerDiedIsKept) {
  TracedWorld world;
  world.script.at_slot = [&](const std::string& arm, std::int64_t) {
    if (arm == "A" && world.traced_arms.size() == 1) {
      throw base::Error(base::ErrorCode::kBroken, "worker A", "died");
    }
    world.write(arm);
  };
  const RunResult result = world.run();
  EXPECT_EQ(result.state, record::RunState::kFinished) << result.text;
  EXPECT_EQ(world.notes_of(kLaterPassFailed).size(), 1U);
  std::string seen;
  for (const auto& block : world.blocks()) seen += block.slots.at(0).arm + block.workload + " ";
  EXPECT_EQ(seen, "Aw1 Bw1 Bw2 ");
}

TEST(TracePass, AFileThatIsNoTraceIsANoteAndTheOtherArmGoesOn) {
  TracedWorld world;
  world.script.at_slot = [&](const std::string& arm, std::int64_t) {
    world.write(arm);
    const auto file = world.script.environment.find("ABBA_TRACE_FILE");
    if (arm == "A" && file != world.script.environment.end()) {
      std::ofstream(file->second, std::ios::binary) << "rubbish";
    }
  };
  world.run();
  ASSERT_EQ(world.notes_of(kLaterPassFailed).size(), 1U);
  EXPECT_NE(world.notes_of(kLaterPassFailed).front().find("the trace of arm A is no trace"),
            std::string::npos);
  EXPECT_EQ(world.blocks().size(), 2U);
}

TEST(TracePass, ASinkThatFailsBreaksTheRun) {
  TracedWorld world;
  world.script.at_slot = [&](const std::string& arm, std::int64_t) {
    world.write(arm);
    if (!world.traced_arms.empty()) world.sink.fail_after = world.sink.calls + 1;
  };
  const RunResult result = world.run();
  EXPECT_EQ(result.state, record::RunState::kBroken);
  EXPECT_EQ(result.error, base::ErrorCode::kBroken);
}

}  // namespace
}  // namespace abba::run
