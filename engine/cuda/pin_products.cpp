#include "engine/cuda/pin_products.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

constexpr int kMostCandidates = 32;
constexpr int kRounds = 3;
constexpr std::size_t kCycledBytes = std::size_t{160} << 20U;  // several times the cache

// Random values of either type: zeros would run faster than any real product.
void fill_random(const DeviceBuffer& buffer, tensor::DType type, std::uint64_t seed,
                 const Stream& stream) {
  base::Random random(seed);
  const std::size_t element = tensor::size_bytes_of(type);
  std::vector<std::byte> host(std::min<std::size_t>(buffer.size_bytes(), std::size_t{4} << 20U));
  for (std::size_t i = 0; i < host.size() / element; ++i) {
    const float value = random.uniform_float(-1.0F, 1.0F);
    if (type == tensor::DType::kBf16) {
      reinterpret_cast<base::Bf16*>(host.data())[i] = base::to_bf16(value);
    } else {
      reinterpret_cast<float*>(host.data())[i] = value;
    }
  }
  for (std::size_t at = 0; at < buffer.size_bytes(); at += host.size()) {
    const std::size_t size = std::min(host.size(), buffer.size_bytes() - at);
    require(cudaMemcpyAsync(buffer.data() + at, host.data(), size, cudaMemcpyHostToDevice,
                            stream.get()),
            "filling a buffer");
  }
  stream.synchronize();
}

class Bench {
 public:
  Bench(Product& product, const ProductProblem& problem)
      : product_(product),
        problem_(problem),
        weight_bytes_(bytes(problem.columns * problem.depth, problem.in)),
        copies_(std::clamp<std::size_t>(kCycledBytes / weight_bytes_, 4, 32)),
        weights_(copies_ * padded(weight_bytes_), "weights to time"),
        x_(bytes(problem.rows * problem.depth, problem.in), "activations to time"),
        y_(bytes(problem.rows * problem.columns, problem.out), "results to time"),
        bias_(bytes(problem.columns, problem.out), "a bias to time") {
    fill_random(weights_, problem.in, 1, stream_);
    fill_random(x_, problem.in, 2, stream_);
    fill_random(bias_, problem.out, 3, stream_);
  }

  // Median microseconds of one product on the device, started by a graph so that the host's share
  // is not in it; infinite if the candidate does not run or cannot come near `best_us` any more.
  double time_us(const Algorithm& algorithm, double best_us) {
    constexpr double kHopeless = 1.3;
    const bool biased = problem_.finish == Finish::kBias || problem_.finish == Finish::kReluBias;
    const int plan = product_.plan_with(problem_, algorithm, biased ? bias_.data() : nullptr);
    const Graph graph = captured(plan);
    if (graph == nullptr) return std::numeric_limits<double>::infinity();
    std::vector<double> rounds;
    for (int round = -1; round < kRounds; ++round) {  // the first one warms up
      start_.record(stream_);
      require(cudaGraphLaunch(graph.get(), stream_.get()), "starting a graph");
      end_.record(stream_);
      end_.synchronize();
      const double us = 1e3 * end_.elapsed_ms(start_) / static_cast<double>(copies_);
      if (us > kHopeless * best_us) return std::numeric_limits<double>::infinity();
      if (round >= 0) rounds.push_back(us);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[kRounds / 2];
  }

 private:
  static std::size_t bytes(std::int64_t count, tensor::DType type) {
    return static_cast<std::size_t>(count) * tensor::size_bytes_of(type);
  }
  static std::size_t padded(std::size_t size) { return (size + 255) / 256 * 256; }

  struct DestroyGraph {
    void operator()(cudaGraphExec_t graph) const noexcept { cudaGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

  Graph captured(int plan) {
    require(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
            "capturing a graph");
    const bool runs = run_all(plan);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    if (cudaStreamEndCapture(stream_.get(), &graph) == cudaSuccess && runs) {
      cudaGraphInstantiate(&made, graph, 0);
    }
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return Graph(made);
  }

  bool run_all(int plan) {
    for (std::size_t i = 0; i < copies_; ++i) {
      const std::byte* weight = weights_.data() + i * padded(weight_bytes_);
      if (product_.run(plan, weight, x_.data(), y_.data(), stream_.get()) != 0) return false;
    }
    return true;
  }

  Stream stream_;
  Product& product_;
  ProductProblem problem_;
  std::size_t weight_bytes_;
  std::size_t copies_;
  DeviceBuffer weights_, x_, y_, bias_;
  Event start_{Event::Timing::kOn};
  Event end_{Event::Timing::kOn};
};

// The library's proposals for one problem in the order it makes them, timed; later what won for
// others, if it is accepted here: the library does not always think of the best by itself.
class Search {
 public:
  Search(Product& product, const ProductProblem& problem)
      : product_(product), problem_(problem), bench_(product, problem) {
    for (const Algorithm& algorithm : product.candidates(problem, kMostCandidates))
      try_one(algorithm);
  }

  void try_others(const std::vector<AlgorithmFields>& pool) {
    for (const AlgorithmFields& fields : pool) {
      if (std::find(tried_.begin(), tried_.end(), fields) != tried_.end()) continue;
      if (const auto algorithm = product_.algorithm_of(problem_, fields)) try_one(*algorithm);
    }
  }

  [[nodiscard]] const AlgorithmFields& best() const { return best_; }
  [[nodiscard]] PinnedChoice choice() const {
    return {row_text({product_.platform(), problem_, best_}), problem_text(problem_), best_us_,
            first_us_, static_cast<int>(tried_.size())};
  }

 private:
  void try_one(const Algorithm& algorithm) {
    const double us = bench_.time_us(algorithm, best_us_);
    if (tried_.empty()) first_us_ = us;
    tried_.push_back(algorithm.fields);
    if (us >= best_us_) return;
    best_us_ = us;
    best_ = algorithm.fields;
  }

  Product& product_;
  ProductProblem problem_;
  Bench bench_;
  std::vector<AlgorithmFields> tried_;
  AlgorithmFields best_;
  double best_us_ = std::numeric_limits<double>::infinity();
  double first_us_ = 0.0;
};

void add_new(std::vector<AlgorithmFields>& pool, const AlgorithmFields& fields) {
  if (std::find(pool.begin(), pool.end(), fields) == pool.end()) pool.push_back(fields);
}

}  // namespace

void pin_products(const ops::Backend& backend,
                  const std::function<void(const PinnedChoice&)>& found) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  ABBA_CHECK(cuda != nullptr);
  Product product(cuda->product().platform(), ops::Gemm::kHeuristic);
  const std::vector<ProductProblem> problems = cuda->product().problems();
  std::vector<AlgorithmFields> winners;
  for (const ProductProblem& problem : problems) {
    add_new(winners, Search(product, problem).best());
  }
  for (const ProductProblem& problem : problems) {
    Search search(product, problem);
    search.try_others(winners);
    found(search.choice());
  }
}

}  // namespace abba::cuda
