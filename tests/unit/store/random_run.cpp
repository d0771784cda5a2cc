#include "tests/unit/store/random_run.h"

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/base/sha256.h"
#include "harness/store/record_json.h"

namespace abba::testing {
namespace {

using base::Json;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::string word() {
    static const char* const kPieces[] = {"ka", "zü", "7", "\"", "-", "low", "\n", "q", "/", "mi"};
    std::string text = "w";
    for (int i = 0; i < 5; ++i) {
      text += kPieces[random_.below(10)];
    }
    return text;
  }
  std::int64_t count() { return 1 + static_cast<std::int64_t>(random_.below(1'000'000)); }
  int small() { return 1 + static_cast<int>(random_.below(1000)); }
  double real() { return 0.001 + random_.uniform() * 1000; }
  std::string digest() { return base::sha256_hex(word() + std::to_string(count())); }
  Json json() {
    return Json::object({{word() + "z", Json(real())},
                         {word() + "a", Json(count())},
                         {word() + "m", Json(Json::Array{Json(word()), Json(), Json(true)})}});
  }
  std::vector<std::string> words() { return {word(), word()}; }
  std::map<std::string, std::string> pairs() { return {{word(), word()}, {word(), word()}}; }
  base::Random& random() { return random_; }

 private:
  base::Random random_;
};

record::Arm arm(Draw& draw, const std::string& id) {
  return {id,           draw.word(),  draw.pairs(),         draw.word(),
          draw.words(), draw.words(), record::Reads::kLines};
}

void fill_protocol(Draw& draw, record::Protocol& protocol) {
  protocol.preset = record::Preset::kTwoPass;
  protocol.feasibility = true;
  protocol.passes = 2;
  protocol.looks = {1, 2};
  protocol.workers = record::WorkerReuse::kReuse;
  protocol.blocks = 2;
  protocol.order = record::Order::kRandom;
  protocol.workload_order = record::WorkloadOrder::kRotated;
  protocol.slot = {draw.count(), draw.real(), draw.count(), draw.real(), draw.count(), draw.real()};
  protocol.arrival = record::Arrival::kPaced;
  protocol.interval_ms = draw.real();
  protocol.placement = record::Placement::kOneAtATime;
  protocol.cache = draw.word();
  protocol.readiness = draw.word();
  protocol.load = record::Load::kExpected;
  protocol.on_taint = record::OnTaint::kAbort;
  protocol.seed = draw.random().next_u64() | (std::uint64_t{1} << 63U);
  protocol.idle_gap_ms = draw.real();
  protocol.limits = {draw.real(), draw.count(), draw.count()};
}

record::Manifest manifest(Draw& draw) {
  record::Manifest value;
  value.id = draw.word();
  value.title = draw.word();
  value.hypothesis = draw.word();
  value.rationale = draw.word();
  value.prior_data = draw.word();
  value.evidence = {draw.digest(), draw.word(), draw.real()};
  value.independent_variable = draw.word();
  value.combined = true;
  value.a = arm(draw, "A");
  value.b = arm(draw, "B");
  value.worker = draw.words();
  value.settings = draw.json();
  value.files = {{draw.word(), draw.word(), draw.digest(), draw.word(), draw.word(), draw.words()}};
  value.build = {{draw.words(), draw.words()}, draw.word()};
  value.fixed_hashes = draw.pairs();
  value.device = {draw.word(), draw.word(), draw.count(), draw.count()};
  value.affinity = {{draw.small(), draw.small()}, draw.small(), true};
  for (const char* id : {"w1", "w2"}) {
    value.workloads.push_back(
        {id, draw.json(), {draw.real(), draw.real(), draw.real()}, draw.words(), draw.small()});
  }
  fill_protocol(draw, value.protocol);
  value.outputs.rule = record::OutputsRule::kLimits;
  value.outputs.limits = {{draw.word(), {draw.real(), draw.real()}}};
  value.outputs.reference_limits = {{draw.word(), {draw.real(), draw.real()}}};
  value.outputs.stages = draw.words();
  value.outputs.reference = {draw.words(), draw.json(), draw.word()};
  value.success = {record::Claim::kEquivalent,
                   {"w1"},
                   draw.word(),
                   draw.word(),
                   draw.real(),
                   draw.real(),
                   draw.real()};
  value.sources = draw.words();
  value.bind_registered = true;
  value.traces = draw.json();
  value.graph_capture = draw.json();
  value.gate = draw.json();
  value.expanded = Json::object({{"id", Json(value.id)}, {"more", draw.json()}});
  value.path = "/home/someone/" + draw.word() + ".json";
  return value;
}

record::WorkerHello hello(Draw& draw) {
  record::WorkerHello value;
  value.name = draw.word();
  value.version = draw.word();
  value.source_stamp = draw.digest();
  value.files_to_hash = draw.words();
  value.boundaries = {{draw.word(), draw.word(), draw.word(), draw.word()}};
  value.metrics = {{draw.word(), draw.word(), record::Direction::kHigherIsBetter}};
  value.factors = {{draw.word(), {{draw.word(), draw.word(), draw.word()}}, draw.word(), true}};
  value.capabilities = draw.words();
  value.stages = draw.words();
  value.facts = draw.json();
  value.raw = draw.json();
  return value;
}

record::Trace trace(Draw& draw) {
  record::Trace value;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t at = draw.count();
    const std::int64_t n = draw.count();
    value.kernels.push_back(
        {draw.word(), n, n + 1, n + 2, i, at, at + n, {1, n, 3}, {n, 5, 6}, 7, n, 9});
    value.copies.push_back({draw.word(), n, n + 1, n + 2, n + 3, at, at + n});
    value.calls.push_back({draw.word(), n, n + 1, at, at + n});
    value.ranges.push_back({"/home/someone/" + draw.word(), n, at, at + n});
  }
  return value;
}

record::Slot slot(Draw& draw, std::int64_t id, std::int64_t block, int position, char arm) {
  record::Slot value{
      id,           block,        position,     std::string(1, arm), arm == 'A' ? 1 : 2,
      draw.count(), draw.count(), draw.count(), draw.count(),        1,
      draw.digest()};
  for (int seq = 0; seq < 7; ++seq) {
    const auto status = seq == 5 ? record::SampleStatus::kFailed : record::SampleStatus::kOk;
    value.samples.push_back({seq, seq < 2, draw.count(), draw.count(), status});
    value.values.push_back({seq, draw.word(), draw.real()});
  }
  for (int i = 0; i < 3; ++i) {
    value.spans.push_back({i - 1, draw.word(), draw.word(), draw.count(), draw.count(), i + 2});
  }
  value.trace = trace(draw);
  return value;
}

record::Pass pass(Draw& draw, const record::PlannedPass& planned, std::int64_t id) {
  record::Pass value;
  value.id = id;
  value.index = planned.index;
  value.phase = planned.phase;
  value.start_ns = draw.count();
  value.end_ns = value.start_ns + draw.count();
  for (const record::PlannedBlock& block_plan : planned.blocks) {
    record::Block& block = value.blocks.emplace_back();
    block.id = id * 100 + static_cast<std::int64_t>(value.blocks.size());
    block.pass = planned.index;
    block.phase = planned.phase;
    block.workload = block_plan.workload;
    block.boundary = draw.word();
    block.slot_order = block_plan.slot_order;
    block.taint = draw.word();
    int position = 0;
    for (const char arm : block.slot_order) {
      block.slots.push_back(slot(draw, block.id * 10 + position, block.id, position, arm));
      ++position;
    }
  }
  return value;
}

record::Plan plan() {
  record::Plan value;
  value.looks = {1, 2};
  int index = 0;
  for (const auto phase :
       {record::Phase::kFeasibility, record::Phase::kMeasured, record::Phase::kMeasured}) {
    record::PlannedPass& planned = value.passes.emplace_back();
    planned.index = phase == record::Phase::kFeasibility ? 0 : index++;
    planned.phase = phase;
    planned.fresh_workers = true;
    planned.start_order = index == 1 ? "AB" : "BA";
    planned.padding_seed = 0xfedcba9876543210U + static_cast<unsigned>(index);
    for (const char* workload : {"w1", "w2"}) {
      planned.blocks.push_back({workload, "ABBA", true});
      planned.blocks.push_back({workload, "BAAB", false});
    }
  }
  return value;
}

std::vector<record::EnvironmentReading> readings(Draw& draw, std::int64_t slot) {
  return {{slot, draw.count(), "before", draw.word(), draw.real(), draw.word(), draw.word()},
          {slot, draw.count(), "after", draw.word(), draw.real(), draw.word(), draw.word()}};
}

record::Note note(Draw& draw) {
  return {draw.word(), record::Severity::kDoubt, draw.word(), draw.word()};
}

record::CaptureCosts costs(Draw& draw) {
  return {draw.word(),  draw.count(), draw.count(), draw.count(), draw.count(),
          draw.count(), draw.count(), draw.count(), draw.count(), draw.count()};
}

void fill_preflight(Draw& draw, record::RunRecord& run) {
  run.bindings = {{"executable/A", draw.digest()}, {"driver", draw.word()}};
  run.counts = {{"w2", draw.count(), draw.count()}, {"w1", draw.count(), draw.count()}};
  for (const char* id : {"A", "B"}) {
    run.hello[id] = hello(draw);
    run.load[id] = {draw.json(), draw.pairs(), draw.json(), draw.json(), {{draw.word(), 2.5}}};
    for (const char* workload : {"w1", "w2"}) {
      run.prepared[std::string(id) + "/" + workload] = {
          {draw.real(), draw.real(), draw.real()}, draw.json(), draw.real()};
      for (const char* against : {"A", "repeat"}) {
        run.output_checks.push_back({workload, draw.word(), id, against, draw.digest(), true, true,
                                     draw.real(), draw.real(), draw.real(), draw.word()});
      }
    }
    const std::int64_t worker = static_cast<std::int64_t>(run.workers.size()) + 1;
    run.graph_captures.push_back({worker, id, "w1", costs(draw)});
    run.graph_captures.push_back({worker, id, "w2", {.shape = draw.word(), .warm_runs = 0}});
    run.workers.push_back({worker,
                           id,
                           draw.small(),
                           draw.count(),
                           draw.digest(),
                           {{"spawn", draw.real()}, {"load", draw.real()}},
                           draw.words(),
                           draw.small(),
                           {draw.small(), draw.small()}});
  }
  run.identity = {{"cpu", "name", draw.word()}, {"kernel", "hostname", draw.word()}};
}

}  // namespace

record::RunRecord random_run(std::uint64_t seed) {
  Draw draw(seed);
  record::RunRecord run;
  run.run_id = "20261129T150000Z-0badcafe";
  run.state = record::RunState::kFinished;
  run.state_text = draw.word();
  run.started_utc = "2026-11-29T15:00:00Z";
  run.finished_utc = "2026-11-29T15:10:00Z";
  run.analysis_version = draw.word();
  run.program_version = draw.word();
  run.manifest = manifest(draw);
  run.plan = plan();
  record::Registration& lock = run.registration;
  lock.manifest_digest = base::sha256_hex(run.manifest.expanded.canonical());
  lock.registered_utc = "2026-11-29T14:59:00Z";
  lock.seed = run.manifest.protocol.seed;
  lock.decisions = draw.json();
  lock.sources = draw.pairs();
  lock.commit = draw.digest();
  lock.supersedes = draw.digest();
  Json text = texts_of(run).lock;
  text.erase("digest");
  lock.lock_digest = base::sha256_hex(text.canonical());
  fill_preflight(draw, run);
  run.notes = {note(draw)};
  run.environment = readings(draw, -1);
  std::int64_t id = 0;
  for (const record::PlannedPass& planned : run.plan.passes) {
    run.passes.push_back(pass(draw, planned, ++id));
    for (const record::Block& block : run.passes.back().blocks) {
      const auto more = readings(draw, block.slots.front().id);
      run.environment.insert(run.environment.end(), more.begin(), more.end());
      run.notes.push_back(note(draw));
    }
  }
  return run;
}

store::RunTexts texts_of(const record::RunRecord& run) {
  const record::Registration& lock = run.registration;
  return {"// as written\n" + run.manifest.expanded.dump_pretty(),
          Json::object({{"manifest_digest", Json(lock.manifest_digest)},
                        {"decisions", lock.decisions},
                        {"commit", Json(lock.commit)},
                        {"digest", Json(lock.lock_digest)}})};
}

record::Analysis random_analysis(std::uint64_t seed) {
  Draw draw(seed);
  record::Analysis analysis;
  analysis.version = draw.word();
  analysis.same_hash_law = true;
  record::Verdict& verdict = analysis.verdicts.emplace_back();
  verdict.workload = "w1";
  verdict.metric = draw.word();
  verdict.boundary = draw.word();
  verdict.primary = true;
  verdict.word = record::Word::kImproved;
  verdict.reason = draw.word();
  verdict.effect = -draw.real();
  verdict.deciding = {-draw.real(), draw.real(), 0.95};
  verdict.plain95 = {-draw.real(), draw.real(), 0.95};
  verdict.passes = draw.small();
  verdict.pass_sd = draw.real();
  verdict.pass_indices = {draw.small(), draw.small()};
  verdict.p_difference = draw.real();
  verdict.p_equivalence = draw.real();
  verdict.signed_rank_p = draw.real();
  verdict.carry_over = {-draw.real(), draw.real(), 0.95};
  verdict.carry_over_effect = draw.real();
  verdict.blocks_used = draw.count();
  verdict.blocks_tainted = draw.count();
  verdict.blocks_failed = draw.count();
  analysis.passes = draw.small();
  analysis.look = draw.small();
  analysis.looks = draw.small();
  analysis.look_level = draw.real();
  analysis.stopped_early = true;
  analysis.criterion = record::Criterion::kUndecided;
  analysis.headline = draw.word();
  verdict.pass_effects = {draw.real(), -draw.real()};
  verdict.summaries = {
      {"A", 1, draw.count(), 2, draw.real(), draw.real(), draw.real(), draw.real(), draw.real()}};
  analysis.notes = {note(draw)};
  return analysis;
}

store::RunFile create_run(const std::string& path, const record::RunRecord& run,
                          const store::RunFileOptions& options) {
  record::RunRecord start = run;
  start.notes.resize(1);
  store::RunFile file = store::RunFile::create(path, start, texts_of(run), options);
  store::Facts facts;
  facts.bindings = run.bindings;
  facts.hello = run.hello;
  facts.load = run.load;
  facts.prepared = run.prepared;
  facts.workers = run.workers;
  for (record::WorkerProcess& worker : facts.workers) {  // as known before they end
    worker.exit_code = 0;
    worker.last_stderr.clear();
  }
  facts.identity = run.identity;
  facts.environment = {run.environment.begin(), run.environment.begin() + 2};
  facts.private_strings = {{"worker/1/command", "/home/someone/bin/worker --fast"}};
  file.commit_facts("preflight", facts);
  file.commit_facts("outputs", {.output_checks = run.output_checks});
  file.commit_facts("counts", {.counts = run.counts});
  file.commit_facts("graph capture", {.graph_captures = run.graph_captures});
  return file;
}

void commit_pass(store::RunFile& file, const record::RunRecord& run, const record::Pass& pass) {
  file.begin_pass(pass);
  for (const record::Block& block : pass.blocks) {
    std::vector<record::EnvironmentReading> around;
    for (const record::EnvironmentReading& reading : run.environment) {
      if (reading.slot == block.slots.front().id) {
        around.push_back(reading);
      }
    }
    std::size_t index = 1;  // of the block's note: one a block, in order
    for (const record::Pass& other : run.passes) {
      for (const record::Block& candidate : other.blocks) {
        if (candidate.id < block.id) {
          ++index;
        }
      }
    }
    file.commit_block(pass.id, block, around, {run.notes.at(index)});
  }
  file.end_pass(pass.id, pass.end_ns);
}

std::string write_run(const std::string& path, const record::RunRecord& run) {
  store::RunFile file = create_run(path, run);
  for (const record::Pass& pass : run.passes) {
    commit_pass(file, run, pass);
  }
  file.commit_facts("workers ended", {.workers = run.workers});
  file.commit_analysis(random_analysis(99));
  return file.finish(run.state, run.state_text, run.finished_utc);
}

}  // namespace abba::testing
