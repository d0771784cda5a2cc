// The run file at its largest: a million samples written block by block, each block one transaction
// with its entry of the chain (target: under 2 s), and the same file read back.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "engine/base/prng.h"
#include "engine/base/sha256.h"
#include "harness/store/run_file.h"

namespace abba {
namespace {

constexpr std::int64_t kSamples = 1'000'000;

record::RunRecord start() {
  record::RunRecord run;
  run.run_id = "bench";
  run.manifest.id = "bench";
  run.manifest.a.id = "A";
  run.manifest.b.id = "B";
  run.manifest.workloads.push_back({"w", base::Json(1), {}, {}, 0});
  return run;
}

// One block of ABBA, `requests` samples a slot.
record::Block block(std::int64_t id, std::int64_t requests, base::Random& random) {
  record::Block value;
  value.id = id;
  value.workload = "w";
  value.boundary = "request";
  value.slot_order = "ABBA";
  std::int64_t now_ns = id * 1'000'000'000;
  for (int position = 0; position < 4; ++position) {
    record::Slot& slot = value.slots.emplace_back();
    slot.id = id * 4 + position;
    slot.position = position;
    slot.arm = value.slot_order.substr(static_cast<std::size_t>(position), 1);
    slot.digest = base::sha256_hex(std::to_string(slot.id));
    for (std::int64_t seq = 0; seq < requests; ++seq) {
      const auto duration_ns = static_cast<std::int64_t>(900'000 + random.below(200'000));
      slot.samples.push_back({seq, seq < 10, now_ns, duration_ns, record::SampleStatus::kOk});
      now_ns += duration_ns + 500;
    }
  }
  return value;
}

std::string file_name() {
  return (std::filesystem::temp_directory_path() / "abba-bench-store.sqlite").string();
}

void remove_file() {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(file_name() + suffix);
  }
}

void write(std::int64_t rows_a_block) {
  remove_file();
  base::Random random(7);
  store::RunFile file = store::RunFile::create(file_name(), start(), {});
  file.begin_pass({.id = 1, .index = 0, .phase = record::Phase::kMeasured});
  for (std::int64_t id = 1; id <= kSamples / rows_a_block; ++id) {
    file.commit_block(1, block(id, rows_a_block / 4, random), {}, {});
  }
  file.end_pass(1, 1);
  file.finish(record::RunState::kFinished, "", "2026-11-29T15:00:00Z");
}

void insert_million(benchmark::State& state) {
  for (auto _ : state) {
    write(state.range(0));
  }
  state.counters["bytes_per_sample"] =
      static_cast<double>(std::filesystem::file_size(file_name())) / kSamples;
}
BENCHMARK(insert_million)->Arg(240)->Arg(1000)->Unit(benchmark::kMillisecond)->UseRealTime();

void read_million(benchmark::State& state) {
  write(1000);
  for (auto _ : state) {
    const record::RunRecord run = store::read_run(file_name(), {.check = state.range(0) != 0});
    benchmark::DoNotOptimize(run.passes.data());
  }
  remove_file();
}
BENCHMARK(read_million)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace abba

BENCHMARK_MAIN();
