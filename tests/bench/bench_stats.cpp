// Analysis and report of a run with 1,000,000 measured samples: both together in under 5 s.
#include <benchmark/benchmark.h>

#include "harness/report/report.h"
#include "harness/stats/analyze.h"
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

}  // namespace
}  // namespace abba

BENCHMARK_MAIN();
