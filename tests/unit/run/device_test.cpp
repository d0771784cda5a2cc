// The device of a run: who is told which, what workers say of it, and what a run refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "harness/run/device_binding.h"
#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

host::DeviceChoice choice() {
  host::DeviceChoice chosen;
  chosen.uuid = "GPU-1";
  chosen.sources = {{"driver", 0, "GPU-1", "NVIDIA H200", "9.0", 132, 150'000'000'000, "13.0"},
                    {"nvml", 0, "GPU-1", "L20X", "8.9", -1, 150'100'000'000, "580.1"}};
  chosen.disagreements = host::disagreements(chosen.sources);
  return chosen;
}

base::Json runtime(const std::string& uuid) {
  return base::Json::object({{"uuid", uuid},
                             {"name", "NVIDIA H200"},
                             {"compute_capability", "9.0"},
                             {"sm_count", 132},
                             {"memory_bytes", std::int64_t{150'000'000'000}},
                             {"runtime", "13.0"},
                             {"exactness", base::Json::array()}});
}

World with_device() {
  World world;
  world.device = choice();
  world.script.device = {{"A", runtime("GPU-1")}, {"B", runtime("GPU-1")}};
  return world;
}

std::string said(const World& world, const std::string& source, const std::string& key) {
  for (const auto& row : world.sink.identity) {
    if (row.source == source && row.key == key) return row.value;
  }
  return "nothing";
}

TEST(Device, workers_are_told_and_can_see_only_the_chosen_one) {
  World world = with_device();
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(world.script.asked_device.at("A"), "GPU-1");
  EXPECT_EQ(world.script.asked_device.at("B"), "GPU-1");
  EXPECT_EQ(world.script.environment.at("CUDA_VISIBLE_DEVICES"), "GPU-1");
}

TEST(Device, none_leaves_the_environment_alone) {
  World world;
  world.run();
  EXPECT_EQ(world.script.asked_device.at("A"), "none");
  EXPECT_EQ(world.script.environment.count("CUDA_VISIBLE_DEVICES"), 0U);
  EXPECT_TRUE(std::none_of(world.sink.bindings.begin(), world.sink.bindings.end(),
                           [](const auto& binding) { return binding.name == "device/uuid"; }));
}

TEST(Device, uuid_and_driver_are_bound_and_the_runtimes_words_are_stored) {
  World world = with_device();
  world.run();
  const std::vector<record::Binding> bound(world.sink.bindings.begin(),
                                           world.sink.bindings.begin() + 2);
  EXPECT_EQ(bound,
            (std::vector<record::Binding>{{"device/uuid", "GPU-1"}, {"device/driver", "13.0"}}));
  EXPECT_EQ(said(world, "runtime/A", "compute_capability"), "9.0");
  EXPECT_EQ(said(world, "runtime/B", "sm_count"), "132");
  EXPECT_EQ(said(world, "runtime/B", "runtime"), "13.0");
  EXPECT_EQ(said(world, "runtime/A", "exactness"), "nothing");  // lists stay in the load reply
}

TEST(Device, a_worker_elsewhere_is_refused) {
  World world = with_device();
  world.script.device["B"] = runtime("GPU-2");
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kPreflight);
  EXPECT_NE(result.text.find("GPU-2"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("bound to GPU-1"), std::string::npos) << result.text;
}

TEST(Device, a_worker_that_does_not_say_is_a_doubt_unless_required) {
  World world = with_device();
  world.script.device.clear();
  EXPECT_FALSE(world.run().error);
  EXPECT_TRUE(world.has_note(kDeviceUnconfirmed));
  World required = with_device();
  required.script.device.clear();
  required.require_device = true;
  const auto result = required.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kPreflight);
  EXPECT_NE(result.text.find("--require cuda"), std::string::npos) << result.text;
}

TEST(Device, a_runtime_that_contradicts_the_driver_is_kept_as_a_note) {
  World agreeing = with_device();
  agreeing.run();
  World world = with_device();
  base::Json odd = runtime("GPU-1");
  odd.set("sm_count", 114);
  world.script.device["A"] = odd;
  world.run();
  const auto sm_note = [](const World& seen) {
    return std::any_of(seen.sink.notes.begin(), seen.sink.notes.end(), [](const auto& note) {
      return note.code == kDeviceDisagrees && note.text.find("114") != std::string::npos;
    });
  };
  EXPECT_TRUE(sm_note(world));
  EXPECT_FALSE(sm_note(agreeing));
}

TEST(Device, a_compute_capability_may_be_a_number) {
  record::LoadReply reply;
  reply.device = base::Json::object({{"compute_capability", 90}});
  EXPECT_EQ(reported_device(reply).compute_capability, "9.0");
  reply.device = base::Json();
  EXPECT_EQ(reported_device(reply).uuid, "");
}

TEST(Device, a_resumed_run_never_moves) {
  World world = with_device();
  world.stop = [&world] { return world.script.slots >= 10; };
  const auto record = world.run().record;
  world.stop = nullptr;
  world.device.uuid = "GPU-2";
  world.script.device = {{"A", runtime("GPU-2")}, {"B", runtime("GPU-2")}};
  const auto result = world.resume(record);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kMismatch);
  EXPECT_NE(result.text.find("bound to GPU-1"), std::string::npos) << result.text;
}

TEST(Device, one_that_vanishes_stops_the_run_which_goes_on_when_it_is_back) {
  World world = with_device();
  world.script.at_slot = [&](const std::string&, std::int64_t call) {
    world.environment.exposure.device.lost = call >= 10;
  };
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, base::ErrorCode::kBroken);
  EXPECT_EQ(result.state, record::RunState::kStopped);
  EXPECT_NE(result.text.find("GPU-1 is gone"), std::string::npos) << result.text;
  EXPECT_EQ(violation(world, result), "");
  EXPECT_TRUE(world.sink.passes.back().blocks.back().failed);
  EXPECT_EQ(world.sink.passes.back().blocks.back().slots.size(), 3U) << "what was answered is kept";
  world.script.at_slot = nullptr;
  world.environment.exposure.device.lost = false;
  const auto resumed = world.resume(result.record);
  EXPECT_FALSE(resumed.error) << resumed.text;
}

TEST(Device, a_foreign_process_taints_the_block) {
  World world = with_device();
  world.environment.exposure.device.foreign_processes = 1;
  world.manifest.protocol.on_taint = record::OnTaint::kKeep;
  world.run();
  ASSERT_FALSE(world.sink.passes.empty());
  EXPECT_EQ(world.sink.passes.back().blocks.front().taint, "gpu-foreign");
}

}  // namespace
}  // namespace abba::run
