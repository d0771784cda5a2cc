#include "tests/simulation/subject.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "harness/manifest/parse.h"
#include "harness/plan/make_plan.h"
#include "harness/stats/estimators.h"

namespace abba::simulation {
namespace {

constexpr double kBaseNs = 2e6;
constexpr int kWarmups = 2;
constexpr int kGateBlocks = 2;
constexpr int kGateRequests = 30;

record::Slot simulate_slot(record::RunRecord& run, const record::Block& block, int position,
                           Machine& machine, double effect, std::int64_t& clock_ns) {
  record::Slot slot;
  slot.id = block.id * 10 + position;
  slot.block = block.id;
  slot.position = position;
  slot.arm = std::string(1, block.slot_order[static_cast<std::size_t>(position)]);
  const bool is_b = slot.arm == "B";
  slot.worker = run.workers[run.workers.size() - (is_b ? 1 : 2)].id;
  slot.start_ns = clock_ns;
  machine.start_slot();
  const auto requests = static_cast<int>(run.manifest.protocol.slot.min_requests);
  for (int i = 0; i < kWarmups + requests; ++i) {
    const double log_time = std::log(kBaseNs) + machine.request(is_b) + (is_b ? effect : 0);
    const std::int64_t duration = std::llround(std::exp(log_time));
    slot.samples.push_back({i, i < kWarmups, clock_ns, duration, record::SampleStatus::kOk});
    clock_ns += duration + 200;
  }
  slot.end_ns = clock_ns;
  return slot;
}

void start_workers(record::RunRecord& run, const record::PlannedPass& planned) {
  if (!planned.fresh_workers && !run.workers.empty()) {
    return;
  }
  for (const char* arm : {"A", "B"}) {
    record::WorkerProcess process;
    process.id = static_cast<std::int64_t>(run.workers.size()) + 1;
    process.arm = arm;
    process.pass = planned.index;
    run.workers.push_back(process);
  }
}

}  // namespace

record::Manifest make_manifest(const std::string& preset, const std::string& claim) {
  const bool seeds = preset == "two-pass";
  const std::string slot = seeds ? "" : R"(, "slot": {"requests": 30, "warmup": 2})";
  // Under `faster` a limit costs no power: only a direction ends a run early there.
  const std::string limit = preset == "standard" ? R"(, "harm_limit": 0.02)" : "";
  const std::string text =
      R"({"id": "simulated", "hypothesis": "B is faster", "independent_variable": "level",
          "worker": ["worker"],
          "arms": {"A": {"factors": {"level": "plain"}}, "B": {"factors": {"level": "changed"}}},
          "workloads": [{"id": "w", "input": {"n": 1}}],
          "protocol": {"preset": ")" +
      preset + "\"" + slot + R"(}, "success": {"claim": ")" + claim + "\"" + limit + "}}";
  const manifest::ParseResult parsed = manifest::parse_text(text, "");
  if (!parsed.ok()) {
    throw base::Error(base::ErrorCode::kBadInput, "simulated manifest",
                      manifest::text(parsed.mistakes));
  }
  return *parsed.manifest;
}

record::RunRecord simulate_run(const record::Manifest& manifest, const NoiseModel& model,
                               double effect, std::uint64_t seed) {
  record::RunRecord run;
  run.manifest = manifest;
  run.manifest.protocol.seed = seed;
  run.manifest.protocol.feasibility = false;
  run.plan = plan::make_plan(run.manifest);
  run.state = record::RunState::kFinished;
  Machine machine(model, ~seed);
  std::int64_t clock_ns = 1'000'000'000;
  std::int64_t blocks = 0;
  for (const record::PlannedPass& planned : run.plan.passes) {
    if (planned.fresh_workers || run.workers.empty()) {
      machine.start_processes();
    }
    start_workers(run, planned);
    record::Pass pass;
    pass.id = planned.index + 1;
    pass.index = planned.index;
    for (const record::PlannedBlock& of_plan : planned.blocks) {
      record::Block block;
      block.id = ++blocks;
      block.pass = planned.index;
      block.workload = of_plan.workload;
      block.boundary = "request";
      block.slot_order = of_plan.slot_order;
      for (int position = 0; position < plan::slot_count(of_plan); ++position) {
        block.slots.push_back(simulate_slot(run, block, position, machine, effect, clock_ns));
      }
      pass.blocks.push_back(std::move(block));
    }
    run.passes.push_back(std::move(pass));
  }
  return run;
}

std::vector<double> simulate_pass_values(Machine& machine, base::Random& orders, int passes,
                                         double effect) {
  std::vector<double> values;
  std::vector<double> slot(kGateRequests);
  for (int pass = 0; pass < passes; ++pass) {
    machine.start_processes();
    const bool a_first = orders.below(2) == 0;  // one block starts with A, the other with B
    std::vector<double> contrasts;
    for (int block = 0; block < kGateBlocks; ++block) {
      const bool begins_with_b = a_first == (block % 2 == 1);
      double difference = 0;
      for (int position = 0; position < 4; ++position) {
        const bool is_b = begins_with_b != (position == 1 || position == 2);
        machine.start_slot();
        for (int i = -kWarmups; i < kGateRequests; ++i) {
          const double time = machine.request(is_b);
          slot[static_cast<std::size_t>(std::max(i, 0))] = time;
        }
        difference += (is_b ? 0.5 : -0.5) * stats::median(slot);
      }
      contrasts.push_back(difference + effect);
    }
    values.push_back(stats::hodges_lehmann(contrasts));
  }
  return values;
}

std::uint64_t seed_of(std::uint64_t cell, std::uint64_t index) {
  const auto half = [](std::uint64_t word, int part) {
    return static_cast<std::uint32_t>(part == 0 ? word : word >> 32U);
  };
  const base::PhiloxCounter drawn = base::philox4x32_10(
      {half(index, 0), half(index, 1), half(cell, 0), half(cell, 1)}, {20261130, 6});
  // 53 bits: what a manifest's seed may hold.
  return ((std::uint64_t{drawn[1]} << 32U) | drawn[0]) >> 11U;
}

}  // namespace abba::simulation
