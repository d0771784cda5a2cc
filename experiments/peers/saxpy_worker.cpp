#include "harness/worker_kit/abba_worker.h"
struct Saxpy : abba_worker::Worker {
  std::vector<float> x, y, z;
  abba_worker::Description describe() override {
    return {"saxpy-cpp", "1", {{"loop", {{"plain"}, {"unrolled", "bitwise", "plain"}}}}, {"z"}};
  }
  abba_worker::Prepared prepare(const abba_worker::Workload& workload) override {
    const std::int64_t n = workload.input["n"].integer(4096);
    x = y = z = abba_worker::random_floats(n, workload.seed);
    expose("z", {n}, z.data());
    return {1.0 * n, 12.0 * n, 2.0 * n};
  }
  void request() override {
    std::size_t i = 0, pairs = level("loop") == "unrolled" ? z.size() / 2 : 0;
    for (; i < 2 * pairs; i += 2) z[i] = 3 * x[i] + y[i], z[i + 1] = 3 * x[i + 1] + y[i + 1];
    for (; i < z.size(); ++i) z[i] = 3 * x[i] + y[i];
  }
};
ABBA_WORKER_MAIN(Saxpy)
