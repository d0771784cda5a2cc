#include "harness/run/interleaved.h"

#include <gtest/gtest.h>

#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

std::string order_of(const std::string& cycle, std::int64_t warmup, std::int64_t requests) {
  InterleavedSlots slots(cycle, {"w", warmup, requests});
  std::map<std::string, record::Slot> stored;
  std::string order;
  std::string arm;
  while (slots.next(arm)) {
    order += arm;
    const auto request = slots.request(arm, {});
    EXPECT_EQ(request.requests, 1);
    EXPECT_EQ(request.warmup, 0);
    record::SlotReply reply;
    reply.samples = {{0, false, 5, 7}};
    reply.spans = {{-1, "total", "", 0, 10, 1}, {0, "part", "", 5, 3, 1}};
    reply.digest = request.digest ? "last" : "";
    slots.take(arm, std::move(reply), stored[arm]);
  }
  for (const auto& [name, slot] : stored) {
    EXPECT_EQ(slot.samples.size(), static_cast<std::size_t>(warmup + requests));
    EXPECT_EQ(slot.samples.back().seq, warmup + requests - 1);
    EXPECT_EQ(slot.samples.front().warmup, warmup > 0);
    EXPECT_FALSE(slot.samples.back().warmup);
    EXPECT_EQ(slot.digest, "last");
    for (const auto& span : slot.spans) {
      if (span.seq < 0) {
        EXPECT_EQ(span.duration_ns, 10 * requests);
        EXPECT_EQ(span.count, requests);
      }
    }
  }
  return order;
}

TEST(Interleaved, alternates_by_the_cycle_until_both_have_all) {
  EXPECT_EQ(order_of("AB", 0, 3), "ABABAB");
  EXPECT_EQ(order_of("BA", 1, 1), "BABA");
  EXPECT_EQ(order_of("ABBA", 1, 2), "ABBAAB");
  EXPECT_EQ(order_of("BAAB", 0, 4), "BAABBAAB");
}

TEST(Interleaved, a_block_is_stored_as_one_slot_an_arm) {
  auto manifest = small_manifest();
  manifest.protocol.order = record::Order::kInterleaved;
  World world(manifest);
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_EQ(violation(world, result), "");
  const auto& block = world.sink.passes[1].blocks[0];
  EXPECT_EQ(world.environment.active, 2U) << "both workers are meant to be busy";
  ASSERT_EQ(block.slots.size(), 2U);
  EXPECT_EQ(block.slots[0].samples.size(), 4U);
  EXPECT_EQ(block.slots[0].arm, std::string(1, block.slot_order[0]));
}

TEST(Interleaved, a_stop_on_request_does_not_wait_for_the_block) {
  auto manifest = small_manifest();
  manifest.protocol.order = record::Order::kInterleaved;
  World world(manifest);
  const std::int64_t feasibility = 2 * 2 * 4;  // workloads, arms, requests
  world.stop = [&] { return world.script.slots >= feasibility + 3; };
  const auto result = world.run();
  EXPECT_EQ(result.state, record::RunState::kStopped);
  EXPECT_EQ(violation(world, result), "");
  EXPECT_EQ(world.script.slots, feasibility + 3);
  const auto& block = world.sink.passes[1].blocks[0];
  EXPECT_TRUE(block.failed);
  ASSERT_EQ(block.slots.size(), 2U);
  EXPECT_EQ(block.slots[0].samples.size() + block.slots[1].samples.size(), 3U);
}

TEST(Interleaved, a_busy_idle_arm_taints_an_ordinary_block) {
  World world;
  world.environment.exposure.idle_arm_ns = 500'000'000;
  world.run();
  EXPECT_EQ(world.sink.passes[1].blocks[0].taint, "idle-arm-busy");
}

}  // namespace
}  // namespace abba::run
