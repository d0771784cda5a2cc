// What the kit's timed loop costs around an op that does nothing: promised is at most 1 µs a
// request, and no allocation. Plain, with two spans, with a value, and with an injected spin of 0
// %.
#define ABBA_WORKER_COUNT_ALLOCATIONS
#include <benchmark/benchmark.h>

#include <string>

#include "harness/worker_kit/abba_worker.h"

namespace {

struct Empty : abba_worker::Worker {
  int spans = 0;
  bool values = false;
  abba_worker::Description describe() override {
    abba_worker::Description about{"empty", "1"};
    about.metrics = {{"m", "1"}};
    return about;
  }
  abba_worker::Prepared prepare(const abba_worker::Workload&) override { return {}; }
  void request() override {
    if (spans > 0) {
      const abba_worker::Span outer(recorder(), "outer");
      const abba_worker::Span inner(recorder(), "inner");
      benchmark::ClobberMemory();
    }
    if (values) value("m", 1);
  }
};

// Time from the first start to the last end, by the slot's own samples: the loop without the
// building of the answer.
void run_slots(benchmark::State& state, Empty& worker, const std::string& load) {
  constexpr int kRequests = 10'000;
  abba_worker::Session session(worker);
  session.answer(load);
  session.answer(R"({"type":"prepare","workload":{"id":"w"}})");
  const std::string request = R"({"type":"slot","slot_id":"s","workload":"w","warmup":100,)"
                              R"("requests":)" +
                              std::to_string(kRequests) + "}";
  std::int64_t allocations = 0;
  for (auto _ : state) {
    const auto answer = abba_worker::Json::parse(session.answer(request));
    const auto& starts = answer["start_ns"].items();
    const auto& durations = answer["duration_ns"].items();
    const std::int64_t ns =
        starts.back().integer() + durations.back().integer() - starts[100].integer();
    state.SetIterationTime(static_cast<double>(ns) * 1e-9 / kRequests);
    allocations += answer["allocations"].integer(1);
  }
  state.counters["allocations"] = static_cast<double>(allocations);
}

const char* const kPlainLoad = R"({"type":"load"})";

void bm_empty(benchmark::State& state) {
  Empty worker;
  run_slots(state, worker, kPlainLoad);
}

void bm_two_spans(benchmark::State& state) {
  Empty worker;
  worker.spans = 2;
  run_slots(state, worker, kPlainLoad);
}

void bm_value(benchmark::State& state) {
  Empty worker;
  worker.values = true;
  run_slots(state, worker, kPlainLoad);
}

void bm_injected(benchmark::State& state) {
  Empty worker;
  run_slots(state, worker, R"({"type":"load","inject":{"kind":"spin","fraction":0.0001}})");
}

void bm_clock(benchmark::State& state) {  // the floor: two clock reads
  for (auto _ : state) {
    benchmark::DoNotOptimize(abba_worker::now_ns());
    benchmark::DoNotOptimize(abba_worker::now_ns());
  }
}

BENCHMARK(bm_empty)->UseManualTime()->Iterations(20)->Unit(benchmark::kNanosecond);
BENCHMARK(bm_two_spans)->UseManualTime()->Iterations(20)->Unit(benchmark::kNanosecond);
BENCHMARK(bm_value)->UseManualTime()->Iterations(20)->Unit(benchmark::kNanosecond);
BENCHMARK(bm_injected)->UseManualTime()->Iterations(20)->Unit(benchmark::kNanosecond);
BENCHMARK(bm_clock);

}  // namespace

BENCHMARK_MAIN();
