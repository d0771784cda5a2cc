// Whole runs with known truth, for tests of everything that reads a RunRecord: seeded noise at the
// levels of a real run (process, block, request with AR(1)), drift and position effects.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "harness/record/run_record.h"

namespace abba::synthetic {

struct Spec {
  record::Preset preset = record::Preset::kStandard;
  record::Order order = record::Order::kAbbaBaab;
  int passes = 12;
  std::vector<int> looks = {6, 12};
  int blocks = 4;
  int requests = 20;  // measured, a slot
  int warmup = 3;
  std::vector<std::string> workloads = {"small", "large"};
  double base_ns = 1.5e6;     // of the first workload; each next takes twice as long
  double effect = 0;          // log B/A of every workload
  double process_sd = 0.003;  // luck of each arm's process in each pass, log
  double block_sd = 0.002;    // of each slot
  double request_sd = 0.004;  // marginal, of each request
  double ar1 = 0;             // correlation of neighbouring requests
  double drift_per_slot = 0;  // log, grows through the whole run
  double first_slot = 0;      // log, first slot of every block
  std::uint64_t seed = 1;
  record::Claim claim = record::Claim::kFaster;
  std::optional<double> harm_limit = 0.02;
  double at_least = 0;
  bool equal_arms = false;  // an A/A run
  bool fresh_workers = true;
};

// A generator that carries a run's clock and ids; one a run.
class Maker {
 public:
  explicit Maker(const Spec& spec) : spec_(spec), random_(spec.seed) {}

  record::RunRecord run() {
    record::RunRecord run;
    declare(run);
    for (int pass = 0; pass < spec_.passes; ++pass) {
      plan_pass(run, pass);
      measure_pass(run, pass);
    }
    run.plan.looks = spec_.looks;
    return run;
  }

 private:
  void declare(record::RunRecord& run) const {
    record::Manifest& m = run.manifest;
    m.id = "synthetic";
    m.title = "Synthetic run";
    m.hypothesis = "Row blocking makes B faster than A.";
    m.independent_variable = spec_.equal_arms ? "none" : "blocking";
    m.a.id = "A";
    m.a.label = "baseline";
    m.b.id = "B";
    m.b.label = "candidate";
    m.a.factors = {{"blocking", "row_32"}};
    m.b.factors = {{"blocking", spec_.equal_arms ? "row_32" : "row_1"}};
    m.worker = {"worker", "serve"};
    for (const std::string& id : spec_.workloads) {
      record::Workload workload;
      workload.id = id;
      workload.boundaries = {"outer"};
      m.workloads.push_back(workload);
    }
    m.protocol.preset = spec_.preset;
    m.protocol.order = spec_.order;
    m.protocol.passes = spec_.passes;
    m.protocol.looks = spec_.looks;
    m.protocol.blocks = spec_.blocks;
    m.protocol.workers =
        spec_.fresh_workers ? record::WorkerReuse::kFreshPerPass : record::WorkerReuse::kReuse;
    m.success.claim = spec_.claim;
    m.success.harm_limit = spec_.harm_limit;
    m.success.at_least = spec_.at_least;
    run.run_id = "20260102T030405Z-0a1b2c3d";
    run.file = "results/synthetic/20260102T030405Z-0a1b2c3d.sqlite";
    run.state = record::RunState::kFinished;
    run.started_utc = "2026-01-02T03:04:05Z";
    run.finished_utc = "2026-01-02T03:14:05Z";
    run.registration.lock_digest = std::string(8, '0') + "a1b2c3d4" + std::string(48, 'e');
    run.registration.manifest_digest = std::string(64, 'd');
    run.registration.registered_utc = "2026-01-02T03:00:00Z";
    run.registration.commit = "0123456789abcdef0123456789abcdef01234567";
    run.bindings = {{"executable/A", std::string(64, 'a')}, {"executable/B", std::string(64, 'a')}};
    run.program_version = "0.1.0";
  }

  [[nodiscard]] std::string order_of(int pass, int block) const {
    const bool a_first = (pass + block) % 2 == 0;
    const bool short_order = spec_.order == record::Order::kAbBa;
    return short_order ? (a_first ? "AB" : "BA") : (a_first ? "ABBA" : "BAAB");
  }

  void plan_pass(record::RunRecord& run, int index) const {
    record::PlannedPass pass;
    pass.index = index;
    pass.fresh_workers = spec_.fresh_workers;
    for (int block = 0; block < spec_.blocks; ++block) {
      for (const std::string& workload : spec_.workloads) {
        pass.blocks.push_back(
            {workload, order_of(index, block), spec_.order == record::Order::kInterleaved});
      }
    }
    run.plan.passes.push_back(pass);
  }

  void measure_pass(record::RunRecord& run, int index) {
    record::Pass pass;
    pass.id = index + 1;
    pass.index = index;
    pass.start_ns = clock_;
    // One draw of luck for each process and workload.
    luck_.assign(2 * spec_.workloads.size(), 0);
    for (double& luck : luck_) {
      luck = spec_.process_sd * random_.normal();
    }
    if (spec_.fresh_workers || index == 0) {
      for (const char* arm : {"A", "B"}) {
        record::WorkerProcess process;
        process.id = static_cast<std::int64_t>(run.workers.size()) + 1;
        process.arm = arm;
        process.pass = index;
        process.pid = 4000 + process.id;
        process.setup_ns = {{"spawn", 2e6}, {"load", 31e6}, {"first_request/small", 4e6}};
        process.cpus = {1};
        run.workers.push_back(process);
      }
    }
    for (const record::PlannedBlock& planned : run.plan.passes.back().blocks) {
      pass.blocks.push_back(measure_block(run, planned, index));
    }
    pass.end_ns = clock_;
    run.passes.push_back(std::move(pass));
  }

  record::Block measure_block(const record::RunRecord& run, const record::PlannedBlock& planned,
                              int pass) {
    record::Block block;
    block.id = ++blocks_;
    block.pass = pass;
    block.workload = planned.workload;
    block.boundary = "outer";
    block.slot_order = planned.slot_order;
    const auto found = std::find(spec_.workloads.begin(), spec_.workloads.end(), planned.workload);
    const auto workload = static_cast<std::size_t>(found - spec_.workloads.begin());
    if (planned.interleaved) {
      interleave(run, block, workload);
      return block;
    }
    for (std::size_t position = 0; position < planned.slot_order.size(); ++position) {
      const std::string arm(1, planned.slot_order[position]);
      record::Slot slot = make_slot(run, block.id, static_cast<int>(position), arm);
      const double level = level_of(workload, arm) + spec_.block_sd * random_.normal() +
                           (position == 0 ? spec_.first_slot : 0);
      fill(slot, level);
      block.slots.push_back(std::move(slot));
    }
    return block;
  }

  record::Slot make_slot(const record::RunRecord& run, std::int64_t block, int position,
                         const std::string& arm) {
    record::Slot slot;
    slot.id = ++slots_;
    slot.block = block;
    slot.position = position;
    slot.arm = arm;
    slot.worker = run.workers[run.workers.size() - (arm == "A" ? 2 : 1)].id;
    slot.start_ns = clock_;
    slot.digest = std::string(64, 'f');
    slot.allocations = 0;
    drift_ += spec_.drift_per_slot;
    return slot;
  }

  [[nodiscard]] double level_of(std::size_t workload, const std::string& arm) const {
    const double base = std::log(spec_.base_ns) + static_cast<double>(workload) * std::log(2.0);
    const bool is_b = arm == "B";
    return base + luck_[2 * workload + (is_b ? 1 : 0)] + (is_b ? spec_.effect : 0) + drift_;
  }

  void add_sample(record::Slot& slot, double level) {
    const double fresh = random_.normal() * std::sqrt(1 - spec_.ar1 * spec_.ar1);
    noise_ = spec_.ar1 * noise_ + fresh;
    const auto seq = static_cast<std::int64_t>(slot.samples.size());
    const auto duration =
        static_cast<std::int64_t>(std::llround(std::exp(level + spec_.request_sd * noise_)));
    slot.samples.push_back({seq, seq < spec_.warmup, clock_, duration, record::SampleStatus::kOk});
    clock_ += duration + 500;
  }

  void fill(record::Slot& slot, double level) {
    for (int i = 0; i < spec_.warmup + spec_.requests; ++i) {
      add_sample(slot, level);
    }
    slot.end_ns = clock_;
  }

  void interleave(const record::RunRecord& run, record::Block& block, std::size_t workload) {
    for (const char* arm : {"A", "B"}) {
      block.slots.push_back(make_slot(run, block.id, arm[0] - 'A', arm));
    }
    const int total = 2 * (spec_.warmup + spec_.requests);
    for (int i = 0; i < total; ++i) {
      const char arm = block.slot_order[static_cast<std::size_t>(i) % block.slot_order.size()];
      add_sample(block.slots[static_cast<std::size_t>(arm - 'A')],
                 level_of(workload, std::string(1, arm)));
    }
    for (record::Slot& slot : block.slots) {
      slot.end_ns = clock_;
    }
  }

  Spec spec_;
  base::Random random_;
  std::vector<double> luck_;
  std::int64_t clock_ = 1'000'000'000;
  std::int64_t blocks_ = 0;
  std::int64_t slots_ = 0;
  double drift_ = 0;
  double noise_ = 0;
};

inline record::RunRecord make_run(const Spec& spec = {}) {
  return Maker(spec).run();
}

// Puts a graph-capture pass at the run's end that answered these; `worker` of each is set.
inline void add_captures(record::RunRecord& run, std::vector<record::GraphCapture> captures,
                         std::int64_t pass_id = 9000, bool superseded = false) {
  record::PlannedPass planned;
  planned.phase = record::Phase::kGraphCapture;
  planned.start_order = "AB";
  for (const record::Workload& workload : run.manifest.workloads) {
    planned.blocks.push_back({workload.id, "AB", false});
  }
  if (!superseded) {
    run.plan.passes.push_back(planned);
  }
  record::Pass pass;
  pass.id = pass_id;
  pass.phase = planned.phase;
  pass.superseded = superseded;
  pass.start_ns = 1;
  pass.end_ns = 2;
  run.passes.push_back(pass);
  for (record::GraphCapture& capture : captures) {
    capture.worker = pass_id + (capture.arm == "A" ? 1 : 2);
    run.graph_captures.push_back(std::move(capture));
  }
}

// An arm that launches one by one, and one that replays a graph.
inline record::GraphCapture eager(const std::string& arm, const std::string& workload) {
  return {0,
          arm,
          workload,
          {.shape = "[8,128]", .first_run_ns = 9'000'000, .warm_runs = 2, .warm_ns = 3'000'000}};
}
inline record::GraphCapture captured(const std::string& arm, const std::string& workload) {
  return {0,
          arm,
          workload,
          {"[8,128]", 9'100'000, 1, 1'500'000, 2'000'000, 1'000'000, 600'000, 1'400'000, 31,
           2'097'152}};
}

}  // namespace abba::synthetic
