// abba_worker_cuda.h: for a worker (abba_worker.h) whose request is work on a CUDA stream: captures
// that work into a graph and measures every step for the ledger that graph_capture() answers.
//   std::vector<abba_worker::CaptureCosts> graph_capture() override {
//     abba_worker::CaptureOptions options;
//     options.first_run_ns = first_request_ns();
//     graph_ = abba_worker::CapturedGraph::capture("[8,128]", stream_, [&] { enqueue(); },
//     options); return {graph_.costs()};
//   }
// and request() is then graph_.replay(stream_) with whatever wait ends it. C++17 and the CUDA
// runtime (12 or later); link cudart. A refusal of CUDA is a std::runtime_error that names the
// call.
#ifndef ABBA_WORKER_CUDA_H_
#define ABBA_WORKER_CUDA_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "abba_worker.h"

namespace abba_worker {

struct CaptureOptions {
  std::int64_t first_run_ns = -1;  // if the shape ran in this process before: what that took
  int warm_runs = 3;               // uncaptured runs before the capture, at least 0
};

namespace detail {

inline void require_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status) + " (" +
                             cudaGetErrorName(status) + ")");
  }
}

// Nanoseconds of `step`, with the stream idle at both ends.
template <typename Step>
std::int64_t timed_on(cudaStream_t stream, const char* call, const Step& step) {
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const std::int64_t start = now_ns();
  step();
  require_cuda(cudaStreamSynchronize(stream), call);
  return now_ns() - start;
}

}  // namespace detail

// A graph that is ready to run, and what it cost until then. Owns the executable graph; the memory
// that the captured work names stays the caller's and must outlive it.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  CapturedGraph(CapturedGraph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)), costs_(other.costs_) {}
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    std::swap(costs_, other.costs_);
    return *this;
  }
  ~CapturedGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }

  // `enqueue()` puts the work of one request on `stream` and nothing else anywhere: while it is
  // captured, a wait, an allocation or work on another stream is refused by CUDA. It is called
  // once (unless options.first_run_ns says what that took), options.warm_runs times more, and once
  // under capture; then the graph is instantiated, uploaded and launched once, so that the work is
  // done as if requested. `stream` may not be the default stream. After a refusal the stream can be
  // used again.
  template <typename Enqueue>
  static CapturedGraph capture(std::string shape, cudaStream_t stream, const Enqueue& enqueue,
                               const CaptureOptions& options = {}) {
    CapturedGraph graph;
    CaptureCosts& costs = graph.costs_;
    costs.shape = std::move(shape);
    costs.first_run_ns = options.first_run_ns;
    if (costs.first_run_ns < 0) {
      costs.first_run_ns = detail::timed_on(stream, "the first run", enqueue);
    }
    costs.warm_runs = options.warm_runs;
    costs.warm_ns = 0;
    for (int run = 0; run < options.warm_runs; ++run) {
      costs.warm_ns += detail::timed_on(stream, "a warm run", enqueue);
    }
    const std::size_t free_before = free_bytes();
    const std::int64_t start = now_ns();
    const Recorded recorded(stream, enqueue);
    costs.capture_ns = now_ns() - start;
    graph.make_ready(stream, recorded.graph());
    const std::size_t free_after = free_bytes();
    // Of the whole device, in its own steps: left out where somebody else freed memory meanwhile.
    if (free_after <= free_before) {
      costs.bytes = static_cast<std::int64_t>(free_before - free_after);
    }
    return graph;
  }

  void replay(cudaStream_t stream) const {
    detail::require_cuda(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
  }
  [[nodiscard]] const CaptureCosts& costs() const { return costs_; }

 private:
  // What was put on a stream while it was captured.
  class Recorded {
   public:
    template <typename Enqueue>
    Recorded(cudaStream_t stream, const Enqueue& enqueue) {
      detail::require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                           "cudaStreamBeginCapture");
      try {
        enqueue();
      } catch (...) {
        cudaStreamEndCapture(stream, &graph_);
        destroy();
        throw;
      }
      detail::require_cuda(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    ~Recorded() { destroy(); }
    [[nodiscard]] cudaGraph_t graph() const { return graph_; }

   private:
    void destroy() {
      if (graph_ != nullptr) cudaGraphDestroy(graph_);
      cudaGetLastError();  // of a capture that was refused: said already
    }
    cudaGraph_t graph_ = nullptr;
  };

  static std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    detail::require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }

  void make_ready(cudaStream_t stream, cudaGraph_t graph) {
    std::size_t nodes = 0;
    detail::require_cuda(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
    costs_.nodes = static_cast<std::int64_t>(nodes);
    const std::int64_t start = now_ns();
    detail::require_cuda(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
    costs_.instantiate_ns = now_ns() - start;
    costs_.upload_ns = detail::timed_on(stream, "cudaGraphUpload", [&] {
      detail::require_cuda(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
    });
    costs_.first_replay_ns = detail::timed_on(stream, "the first replay", [&] { replay(stream); });
  }

  cudaGraphExec_t executable_ = nullptr;
  CaptureCosts costs_;
};

}  // namespace abba_worker

#endif  // ABBA_WORKER_CUDA_H_
