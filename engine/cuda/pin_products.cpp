#include "engine/cuda/pin_products.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/runtime_error.h"

namespace abba::cuda {
namespace {

constexpr int kMostCandidates = 32;
constexpr int kRounds = 7;
constexpr std::size_t kCycledBytes = std::size_t{192} << 20U;  // several times the cache

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
        copies_(std::clamp<std::size_t>(kCycledBytes / weight_bytes_, 1, 64)),
        weights_(copies_ * padded(weight_bytes_), "weights to time"),
        x_(bytes(problem.rows * problem.depth, problem.in), "activations to time"),
        y_(bytes(problem.rows * problem.columns, problem.out), "results to time"),
        bias_(bytes(problem.columns, problem.out), "a bias to time") {
    fill_random(weights_, problem.in, 1, stream_);
    fill_random(x_, problem.in, 2, stream_);
    fill_random(bias_, problem.out, 3, stream_);
  }

  // Median microseconds of one launch; infinite if the candidate does not run.
  double time_us(const Algorithm& algorithm) {
    const bool biased = problem_.finish == Finish::kBias || problem_.finish == Finish::kReluBias;
    const int plan = product_.plan_with(problem_, algorithm, biased ? bias_.data() : nullptr);
    if (!run_all(plan)) return std::numeric_limits<double>::infinity();
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round) {
      start_.record(stream_);
      run_all(plan);
      end_.record(stream_);
      end_.synchronize();
      rounds.push_back(1e3 * end_.elapsed_ms(start_) / static_cast<double>(copies_));
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[kRounds / 2];
  }

 private:
  static std::size_t bytes(std::int64_t count, tensor::DType type) {
    return static_cast<std::size_t>(count) * tensor::size_bytes_of(type);
  }
  static std::size_t padded(std::size_t size) { return (size + 255) / 256 * 256; }

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

PinnedChoice choose(Product& product, const ProductProblem& problem) {
  PinnedChoice choice;
  choice.problem = problem_text(problem);
  Bench bench(product, problem);
  const std::vector<Algorithm> candidates = product.candidates(problem, kMostCandidates);
  choice.candidates = static_cast<int>(candidates.size());
  choice.best_us = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double us = bench.time_us(candidates[i]);
    if (i == 0) choice.first_us = us;
    if (us >= choice.best_us) continue;
    choice.best_us = us;
    choice.row = row_text({product.platform(), problem, candidates[i].fields});
  }
  return choice;
}

}  // namespace

std::vector<PinnedChoice> pin_products(const ops::Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  ABBA_CHECK(cuda != nullptr);
  Product product(cuda->product().platform(), ops::Gemm::kHeuristic);
  std::vector<PinnedChoice> choices;
  for (const ProductProblem& problem : cuda->product().problems()) {
    choices.push_back(choose(product, problem));
  }
  return choices;
}

}  // namespace abba::cuda
