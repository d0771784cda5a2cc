#include "harness/plan/make_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace abba::plan {
namespace {

record::Manifest manifest_of(record::Order order, int passes, int blocks, std::uint64_t seed) {
  record::Manifest manifest;
  manifest.workloads.resize(3);
  for (int i = 0; i < 3; ++i) {
    manifest.workloads[static_cast<std::size_t>(i)].id = std::string(1, static_cast<char>('p' + i));
  }
  manifest.protocol.order = order;
  manifest.protocol.passes = passes;
  manifest.protocol.blocks = blocks;
  manifest.protocol.seed = seed;
  return manifest;
}

std::string text_of(const record::Plan& plan) {
  std::string text;
  for (const auto& pass : plan.passes) {
    text += std::to_string(pass.index) + pass.start_order + std::to_string(pass.padding_seed);
    for (const auto& block : pass.blocks) {
      text += block.workload + block.slot_order;
    }
  }
  return text;
}

// What every plan must hold; returns the first violation, or nothing.
std::string violation(const record::Plan& plan, int passes, int blocks) {
  std::map<std::string, int> a_first;
  int a_started_first = 0;
  int measured = 0;
  for (const auto& pass : plan.passes) {
    std::map<std::string, int> per_workload;
    for (const auto& block : pass.blocks) {
      const auto a = std::count(block.slot_order.begin(), block.slot_order.end(), 'A');
      const auto b = std::count(block.slot_order.begin(), block.slot_order.end(), 'B');
      if (a != b || a == 0) return "arms of unequal count in a block";
      ++per_workload[block.workload];
      if (pass.phase == record::Phase::kMeasured) {
        a_first[block.workload] += block.slot_order.front() == 'A' ? 1 : -1;
      }
    }
    if (pass.phase != record::Phase::kMeasured) continue;
    ++measured;
    a_started_first += pass.start_order == "AB" ? 1 : -1;
    for (const auto& [workload, count] : per_workload) {
      if (count != blocks) return "a workload with too few blocks";
    }
    if (per_workload.size() != 3) return "a pass without every workload";
    for (const auto& [workload, lead] : a_first) {
      if (std::abs(lead) > (blocks % 2 == 1 && measured % 2 == 1 ? 1 : 0)) return "unbalanced";
    }
  }
  if (measured != passes) return "wrong number of passes";
  return std::abs(a_started_first) > passes % 2 ? "worker starts unbalanced" : "";
}

TEST(MakePlan, balances_every_order_for_every_seed) {
  for (const auto order :
       {record::Order::kAbBa, record::Order::kAbbaBaab, record::Order::kInterleaved}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const int passes = 1 + static_cast<int>(seed % 13);
      const int blocks = 1 + static_cast<int>(seed % 4);
      const auto plan = make_plan(manifest_of(order, passes, blocks, seed));
      EXPECT_EQ(violation(plan, passes, blocks), "") << "seed " << seed;
    }
  }
}

TEST(MakePlan, canary_one_flipped_order_is_seen) {
  auto plan = make_plan(manifest_of(record::Order::kAbbaBaab, 12, 4, 7));
  auto& order = plan.passes[3].blocks[2].slot_order;
  order = order == "ABBA" ? "BAAB" : "ABBA";
  EXPECT_EQ(violation(plan, 12, 4), "unbalanced");
}

TEST(MakePlan, is_a_function_of_the_seed) {
  const auto plan = text_of(make_plan(manifest_of(record::Order::kAbbaBaab, 12, 4, 5)));
  EXPECT_EQ(plan, text_of(make_plan(manifest_of(record::Order::kAbbaBaab, 12, 4, 5))));
  EXPECT_NE(plan, text_of(make_plan(manifest_of(record::Order::kAbbaBaab, 12, 4, 6))));
}

TEST(MakePlan, two_pass_is_ab_then_ba_in_declared_order_with_reused_workers) {
  auto manifest = manifest_of(record::Order::kAbBa, 2, 1, 99);
  manifest.protocol.preset = record::Preset::kTwoPass;
  manifest.protocol.workers = record::WorkerReuse::kReuse;
  const auto plan = make_plan(manifest);
  ASSERT_EQ(plan.passes.size(), 3U);
  EXPECT_EQ(plan.passes[0].phase, record::Phase::kFeasibility);
  const std::vector<std::string> orders = {"AB", "AB", "BA"};
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_FALSE(plan.passes[p].fresh_workers);
    ASSERT_EQ(plan.passes[p].blocks.size(), 3U);
    for (std::size_t b = 0; b < 3; ++b) {
      EXPECT_EQ(plan.passes[p].blocks[b].slot_order, orders[p]);
      EXPECT_EQ(plan.passes[p].blocks[b].workload, manifest.workloads[b].id);
    }
  }
}

// What was registered before there was such a pass keeps its plan to the last seed.
TEST(MakePlan, a_graph_capture_pass_comes_last_and_changes_nothing_before_it) {
  auto manifest = manifest_of(record::Order::kAbbaBaab, 12, 4, 5);
  const auto plain = make_plan(manifest);
  manifest.graph_capture = base::Json::object();
  auto plan = make_plan(manifest);
  ASSERT_EQ(plan.passes.size(), plain.passes.size() + 1);
  const auto last = plan.passes.back();
  EXPECT_EQ(last.phase, record::Phase::kGraphCapture);
  EXPECT_EQ(last.index, 0);
  EXPECT_TRUE(last.fresh_workers);
  EXPECT_EQ(last.start_order, "AB");
  ASSERT_EQ(last.blocks.size(), 3U);
  EXPECT_EQ(last.blocks[2].workload, "r");
  EXPECT_EQ(last.blocks[2].slot_order, "AB");
  plan.passes.pop_back();
  EXPECT_EQ(text_of(plan), text_of(plain));
  EXPECT_EQ(plan.looks, plain.looks);
}

TEST(MakePlan, a_graph_capture_pass_is_for_the_arms_and_workloads_named) {
  auto manifest = manifest_of(record::Order::kAbbaBaab, 1, 1, 5);
  manifest.graph_capture = base::parse_json(R"({"arms": ["B"], "workloads": ["r", "p"]})", "");
  const auto last = make_plan(manifest).passes.back();
  EXPECT_EQ(last.start_order, "B");
  ASSERT_EQ(last.blocks.size(), 2U);
  EXPECT_EQ(last.blocks[0].workload, "p");  // as declared
  EXPECT_EQ(last.blocks[1].workload, "r");
  EXPECT_EQ(last.blocks[1].slot_order, "B");
}

TEST(MakePlan, random_order_uses_all_six_orders) {
  std::map<std::string, int> seen;
  for (const auto& pass : make_plan(manifest_of(record::Order::kRandom, 100, 4, 3)).passes) {
    for (const auto& block : pass.blocks) {
      ++seen[block.slot_order];
    }
  }
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen) {
    EXPECT_GT(count, 140) << order;  // 1203 / 6 = 200, sd 13
  }
}

TEST(MakePlan, shuffles_workloads_and_starts_fresh_workers) {
  const auto plan = make_plan(manifest_of(record::Order::kAbbaBaab, 12, 2, 1));
  std::set<std::string> orders;
  for (const auto& pass : plan.passes) {
    if (pass.phase == record::Phase::kMeasured) {
      EXPECT_TRUE(pass.fresh_workers);
      orders.insert(pass.blocks[0].workload + pass.blocks[1].workload + pass.blocks[2].workload);
    }
  }
  EXPECT_GT(orders.size(), 2U);
  EXPECT_EQ(plan.looks, std::vector<int>{12});
}

// The order of workloads in each round of blocks of the measured passes.
std::vector<std::string> rounds(const record::Plan& plan) {
  std::vector<std::string> orders;
  for (const auto& pass : plan.passes) {
    for (std::size_t b = 0; pass.phase == record::Phase::kMeasured && b < pass.blocks.size();
         b += 3) {
      orders.push_back(pass.blocks[b].workload + pass.blocks[b + 1].workload +
                       pass.blocks[b + 2].workload);
    }
  }
  return orders;
}

TEST(MakePlan, a_trace_pass_follows_the_graph_capture_pass_with_counts_of_its_own) {
  auto manifest = manifest_of(record::Order::kAbbaBaab, 2, 2, 1);
  manifest.graph_capture = base::Json::object();
  const auto without = text_of(make_plan(manifest));
  manifest.traces = base::parse_json(R"({"arms": ["B"], "requests": 7.0})", "");
  auto plan = make_plan(manifest);
  const record::PlannedPass traced = plan.passes.back();
  EXPECT_EQ(traced.phase, record::Phase::kTrace);
  EXPECT_EQ(traced.start_order, "B");
  EXPECT_EQ(traced.blocks.size(), manifest.workloads.size());
  plan.passes.pop_back();
  EXPECT_EQ(text_of(plan), without);
  const auto counts = trace_counts(manifest, "p");
  EXPECT_EQ(counts.workload, "p");
  EXPECT_EQ(counts.warmup, record::kDefaultTraceWarmup);
  EXPECT_EQ(counts.requests, 7);
}

TEST(MakePlan, workloads_take_turns_in_the_order_asked_for) {
  auto manifest = manifest_of(record::Order::kAbbaBaab, 3, 2, 1);
  manifest.protocol.workload_order = record::WorkloadOrder::kFixed;
  EXPECT_EQ(rounds(make_plan(manifest)), std::vector<std::string>(6, "pqr"));
  manifest.protocol.workload_order = record::WorkloadOrder::kRotated;
  EXPECT_EQ(rounds(make_plan(manifest)),
            (std::vector<std::string>{"pqr", "qrp", "rpq", "pqr", "qrp", "rpq"}));
  EXPECT_EQ(violation(make_plan(manifest), 3, 2), "");
}

TEST(MakePlan, random_order_of_workloads_is_the_default_where_starts_are_drawn) {
  auto manifest = manifest_of(record::Order::kAbbaBaab, 12, 2, 1);
  const auto plain = text_of(make_plan(manifest));
  manifest.protocol.workload_order = record::WorkloadOrder::kRandom;
  EXPECT_EQ(text_of(make_plan(manifest)), plain);
  auto seeds = manifest_of(record::Order::kAbBa, 12, 2, 1);
  EXPECT_EQ(std::set<std::string>({"pqr"}), [&] {
    const auto all = rounds(make_plan(seeds));
    return std::set<std::string>(all.begin(), all.end());
  }()) << "as declared where it is AB or BA";
  seeds.protocol.workload_order = record::WorkloadOrder::kRandom;
  const auto drawn = rounds(make_plan(seeds));
  EXPECT_GT(std::set<std::string>(drawn.begin(), drawn.end()).size(), 2U);
}

TEST(MakePlan, interleaved_stores_two_slots_a_block) {
  const auto plan = make_plan(manifest_of(record::Order::kInterleaved, 2, 1, 1));
  EXPECT_EQ(slot_count(plan.passes[1].blocks[0]), 2);
  EXPECT_EQ(slot_count({"w", "ABBA", false}), 4);
}

}  // namespace
}  // namespace abba::plan
