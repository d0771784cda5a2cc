// What the names for a profiler cost where no profiler is attached: a forward pass opens some 330
// of them, and the promise is that nobody can measure it (below 1 % of the fastest pass, 1 ms).
#include <benchmark/benchmark.h>

#include "engine/cuda/range.h"

namespace {

void open_and_close(benchmark::State& state) {
  for (auto unused : state) {
    const abba::cuda::Range range("matmul");
    benchmark::ClobberMemory();
  }
}
BENCHMARK(open_and_close)->Name("range/without_a_tool");

void a_pass_worth(benchmark::State& state) {
  constexpr int kRanges = 330;
  for (auto unused : state) {
    for (int i = 0; i < kRanges; ++i) {
      const abba::cuda::Range range("matmul");
      benchmark::ClobberMemory();
    }
  }
}
BENCHMARK(a_pass_worth)->Name("range/of_a_forward_pass");

}  // namespace

BENCHMARK_MAIN();
