// Statistics at full size. Wanted on two cores: the analysis of a run with 1,000,000 measured
// samples in under 2 s, with its report in under 5; 10,000 hierarchical bootstrap resamples of 12
// passes x 8 slots x 1,000 samples in under 1 s; the whole simulation grid in under 30 minutes (a
// cell of 1,000 `standard` runs stands for it: the grid has 127,000 of them, and as many cheaper
// ones).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/prng.h"
#include "harness/report/report.h"
#include "harness/stats/analyze.h"
#include "harness/stats/bootstrap.h"
#include "tests/simulation/gate_grid.h"
#include "tests/simulation/grid.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba {
namespace {

// 12 passes x 4 blocks x 4 slots x 5 workloads x 1,042 requests = 1,000,320 samples.
const record::RunRecord& million() {
  static const record::RunRecord run = [] {
    synthetic::Spec spec;
    spec.workloads = {"w1", "w2", "w3", "w4", "w5"};
    spec.requests = 1042;
    spec.warmup = 10;
    spec.effect = -0.02;
    return synthetic::make_run(spec);
  }();
  return run;
}

void analyze_million(benchmark::State& state) {
  const record::RunRecord& run = million();
  for (auto _ : state) {
    benchmark::DoNotOptimize(stats::analyze(run));
  }
}
BENCHMARK(analyze_million)->Unit(benchmark::kMillisecond);

void report_million(benchmark::State& state) {
  const record::RunRecord& run = million();
  std::size_t size_bytes = 0;
  for (auto _ : state) {
    const record::Analysis analysis = stats::analyze(run);
    size_bytes = report::markdown(run, analysis, {}).size() + report::svg_samples(run).size();
    benchmark::DoNotOptimize(size_bytes);
  }
  state.counters["bytes"] = static_cast<double>(size_bytes);
}
BENCHMARK(report_million)->Unit(benchmark::kMillisecond);

void page_million(benchmark::State& state) {
  const record::RunRecord& run = million();
  const record::Analysis analysis = stats::analyze(run);
  for (auto _ : state) {
    benchmark::DoNotOptimize(report::html(run, analysis, {}));
  }
}
BENCHMARK(page_million)->Unit(benchmark::kMillisecond);

std::vector<stats::BootstrapPass> twelve_passes() {
  base::Random random(1);
  std::vector<stats::BootstrapPass> passes(12);
  for (stats::BootstrapPass& pass : passes) {
    for (const char* order : {"ABBA", "BAAB"}) {
      stats::BootstrapBlock block;
      for (int slot = 0; slot < 4; ++slot) {
        stats::BootstrapSlot values{order[slot] == 'B', std::vector<double>(1000)};
        for (double& value : values.sorted) {
          value = random.normal();
        }
        std::sort(values.sorted.begin(), values.sorted.end());
        block.push_back(std::move(values));
      }
      pass.push_back(std::move(block));
    }
  }
  return passes;
}

void bootstrap_10000(benchmark::State& state) {
  const auto passes = twelve_passes();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        stats::hierarchical_bootstrap(passes, {.threads = static_cast<int>(state.range(0))}));
  }
}
BENCHMARK(bootstrap_10000)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void grid_cell_1000(benchmark::State& state) {
  for (auto _ : state) {
    simulation::Cell cell{&simulation::noise_models().back(), "standard", "faster", 0.01, {}};
    simulation::fill(cell, 1, 1000, static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(cell);
  }
}
BENCHMARK(grid_cell_1000)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void gate_row_10000(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        simulation::gate_row(simulation::noise_models().back(), 1, {9000, 1, 1000}, 2));
  }
}
BENCHMARK(gate_row_10000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace abba

BENCHMARK_MAIN();
