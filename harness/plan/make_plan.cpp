#include "harness/plan/make_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/prng.h"

namespace abba::plan {
namespace {

using record::Order;

// Starts of the blocks of one workload, [pass][block]: true = A first. Balanced within a pass; an
// odd block out is balanced within each pair of neighbouring passes.
std::vector<std::vector<bool>> balanced_starts(int passes, int blocks, base::Random& random) {
  std::vector<std::vector<bool>> starts;
  bool odd_one = false;
  for (int pass = 0; pass < passes; ++pass) {
    odd_one = pass % 2 == 0 ? random.below(2) == 0 : !odd_one;
    std::vector<int> order;
    order.reserve(static_cast<std::size_t>(blocks));
    for (int block = 0; block < blocks; ++block) {
      const bool is_odd_one = blocks % 2 == 1 && block == blocks - 1;
      order.push_back(is_odd_one ? static_cast<int>(odd_one) : block % 2);
    }
    random.shuffle(order);
    starts.emplace_back(order.begin(), order.end());
  }
  return starts;
}

std::string random_order(base::Random& random) {
  std::vector<char> letters = {'A', 'A', 'B', 'B'};
  random.shuffle(letters);
  return {letters.begin(), letters.end()};
}

std::string slot_order(const record::Protocol& protocol, bool a_first, base::Random& random) {
  if (record::has_two_slot_blocks(protocol)) {
    return a_first ? "AB" : "BA";
  }
  return protocol.order == Order::kRandom ? random_order(random) : (a_first ? "ABBA" : "BAAB");
}

// The seeds' order is fixed: AB, then BA. Everything else is drawn.
std::vector<std::vector<bool>> starts_of(const record::Protocol& protocol, base::Random& random) {
  if (!record::has_two_slot_blocks(protocol)) {
    return balanced_starts(protocol.passes, protocol.blocks, random);
  }
  std::vector<std::vector<bool>> starts;
  for (int pass = 0; pass < protocol.passes; ++pass) {
    std::vector<bool> row;
    for (int block = 0; block < protocol.blocks; ++block) {
      row.push_back((pass + block) % 2 == 0);
    }
    starts.push_back(row);
  }
  return starts;
}

// Of round `round` of blocks, counted through all passes.
std::vector<std::size_t> workload_order(const record::Manifest& manifest, int round,
                                        base::Random& random) {
  std::vector<std::size_t> order(manifest.workloads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const record::Protocol& protocol = manifest.protocol;
  switch (protocol.workload_order.value_or(record::default_workload_order(protocol))) {
    case record::WorkloadOrder::kFixed:
      break;
    case record::WorkloadOrder::kRotated:
      std::rotate(order.begin(), order.begin() + round % static_cast<int>(order.size()),
                  order.end());
      break;
    case record::WorkloadOrder::kRandom:
      random.shuffle(order);
      break;
  }
  return order;
}

record::PlannedPass feasibility_pass(const record::Manifest& manifest) {
  record::PlannedPass pass;
  pass.phase = record::Phase::kFeasibility;
  pass.start_order = "AB";
  const bool interleaved = manifest.protocol.order == Order::kInterleaved;
  for (const auto& workload : manifest.workloads) {
    const char* order = record::has_two_slot_blocks(manifest.protocol) ? "AB" : "ABBA";
    pass.blocks.push_back({workload.id, order, interleaved});
  }
  return pass;
}

// Those of `listed` that the manifest names under `key` of the pass; all if it names none.
std::vector<std::string> named(const base::Json& pass, std::string_view key,
                               const std::vector<std::string>& listed) {
  const base::Json* names = pass.find(key);
  if (names == nullptr || !names->is_array() || names->as_array().empty()) {
    return listed;
  }
  std::vector<std::string> chosen;
  for (const std::string& name : listed) {
    const auto& wanted = names->as_array();
    if (std::find(wanted.begin(), wanted.end(), base::Json(name)) != wanted.end()) {
      chosen.push_back(name);
    }
  }
  return chosen;
}

// One worker an arm, one after the other, whatever the placement: alone, and with nothing of the
// measured passes in its memory.
record::PlannedPass later_pass(const record::Manifest& manifest, record::Phase phase,
                               const base::Json& wanted, base::Random& random) {
  record::PlannedPass pass;
  pass.phase = phase;
  pass.fresh_workers = true;
  pass.padding_seed = random.next_u64();
  for (const std::string& arm : named(wanted, "arms", {"A", "B"})) {
    pass.start_order += arm;
  }
  std::vector<std::string> workloads;
  for (const auto& workload : manifest.workloads) {
    workloads.push_back(workload.id);
  }
  for (const std::string& workload : named(wanted, "workloads", workloads)) {
    pass.blocks.push_back({workload, pass.start_order, false});
  }
  return pass;
}

}  // namespace

record::Plan make_plan(const record::Manifest& manifest) {
  const record::Protocol& protocol = manifest.protocol;
  ABBA_CHECK(protocol.passes >= 1 && protocol.blocks >= 1 && !manifest.workloads.empty());
  base::Random random(protocol.seed);
  record::Plan plan;
  if (protocol.feasibility) {
    plan.passes.push_back(feasibility_pass(manifest));
  }
  std::vector<std::vector<std::vector<bool>>> starts;  // [workload][pass][block]
  for (std::size_t w = 0; w < manifest.workloads.size(); ++w) {
    starts.push_back(starts_of(protocol, random));
  }
  const auto worker_starts = balanced_starts(protocol.passes, 1, random);
  const bool interleaved = protocol.order == Order::kInterleaved;
  for (int index = 0; index < protocol.passes; ++index) {
    const auto p = static_cast<std::size_t>(index);
    record::PlannedPass pass;
    pass.index = index;
    pass.fresh_workers = protocol.workers == record::WorkerReuse::kFreshPerPass;
    pass.start_order = worker_starts[p][0] ? "AB" : "BA";
    pass.padding_seed = random.next_u64();
    for (int block = 0; block < protocol.blocks; ++block) {
      const auto b = static_cast<std::size_t>(block);
      for (const std::size_t w :
           workload_order(manifest, index * protocol.blocks + block, random)) {
        const std::string order = slot_order(protocol, starts[w][p][b], random);
        pass.blocks.push_back({manifest.workloads[w].id, order, interleaved});
      }
    }
    plan.passes.push_back(std::move(pass));
  }
  if (protocol.feasibility) {  // reused workers live from here on: their layout is drawn too
    plan.passes.front().padding_seed = random.next_u64();
  }
  if (manifest.graph_capture.is_object()) {  // drawn last: what was planned without it stays
    plan.passes.push_back(
        later_pass(manifest, record::Phase::kGraphCapture, manifest.graph_capture, random));
  }
  if (manifest.traces.is_object()) {
    plan.passes.push_back(later_pass(manifest, record::Phase::kTrace, manifest.traces, random));
  }
  plan.looks = protocol.looks.empty() ? std::vector<int>{protocol.passes} : protocol.looks;
  return plan;
}

int slot_count(const record::PlannedBlock& block) {
  return block.interleaved ? 2 : static_cast<int>(block.slot_order.size());
}

record::SlotCounts trace_counts(const record::Manifest& manifest, const std::string& workload) {
  const auto declared = [&](std::string_view key, std::int64_t otherwise) {
    const base::Json* count = manifest.traces.find(key);
    return count != nullptr && count->is_number() ? static_cast<std::int64_t>(count->as_double())
                                                  : otherwise;
  };
  return {workload, declared("warmup", record::kDefaultTraceWarmup),
          declared("requests", record::kDefaultTraceRequests)};
}

}  // namespace abba::plan
