// The worker kit's capture of a stream into a graph: every step is measured, the graph does the
// work, and a refusal leaves the stream as it was.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <iostream>
#include <stdexcept>
#include <vector>

#include "harness/worker_kit/abba_worker_cuda.h"
#include "tests/device/device.h"

namespace abba::device {
namespace {

using abba_worker::CaptureCosts;
using abba_worker::CapturedGraph;
using abba_worker::CaptureOptions;

constexpr std::size_t kBytes = 1 << 20;

class WorkerCapture : public EveryWay {
 protected:
  void SetUp() override {
    EveryWay::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    for (void** block : {&from_, &to_}) {
      ASSERT_EQ(cudaMalloc(block, kBytes), cudaSuccess);
      ASSERT_EQ(cudaMemset(*block, 0, kBytes), cudaSuccess);
    }
  }
  void TearDown() override {
    cudaFree(from_);
    cudaFree(to_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Three nodes: two fills, and a copy of both.
  void enqueue() const {
    auto* second = static_cast<char*>(from_) + kBytes / 2;
    ASSERT_EQ(cudaMemsetAsync(from_, 3, kBytes / 2, stream_), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(second, 5, kBytes / 2, stream_), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(to_, from_, kBytes, cudaMemcpyDeviceToDevice, stream_), cudaSuccess);
  }
  [[nodiscard]] std::vector<char> copied() const {
    std::vector<char> bytes(kBytes);
    EXPECT_EQ(cudaMemcpy(bytes.data(), to_, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
  }

  cudaStream_t stream_ = nullptr;
  void* from_ = nullptr;
  void* to_ = nullptr;
};

TEST_P(WorkerCapture, measures_every_step_and_the_graph_does_the_work) {
  const CapturedGraph graph = CapturedGraph::capture("[2]", stream_, [&] { enqueue(); });
  const CaptureCosts& costs = graph.costs();
  EXPECT_EQ(costs.shape, "[2]");
  EXPECT_EQ(costs.warm_runs, 3);
  EXPECT_EQ(costs.nodes, 3);
  for (const std::int64_t cost : {costs.first_run_ns, costs.warm_ns, costs.capture_ns,
                                  costs.instantiate_ns, costs.upload_ns, costs.first_replay_ns}) {
    EXPECT_GT(cost, 0);
  }
  EXPECT_GE(costs.bytes, 0);
  std::cout << "record: capture " << costs.capture_ns << " ns, instantiate " << costs.instantiate_ns
            << " ns, upload " << costs.upload_ns << " ns, first replay " << costs.first_replay_ns
            << " ns, " << costs.bytes << " bytes\n";
  ASSERT_EQ(cudaMemset(to_, 0, kBytes), cudaSuccess);
  graph.replay(stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  const std::vector<char> bytes = copied();
  EXPECT_EQ(bytes.front(), 3);
  EXPECT_EQ(bytes[kBytes / 2 - 1], 3);
  EXPECT_EQ(bytes[kBytes / 2], 5);
  EXPECT_EQ(bytes.back(), 5);
}

TEST_P(WorkerCapture, a_first_run_that_is_known_is_not_made_again) {
  int calls = 0;
  CaptureOptions options;
  options.first_run_ns = 12345;
  options.warm_runs = 0;
  const CapturedGraph graph = CapturedGraph::capture(
      "[2]", stream_,
      [&] {
        ++calls;
        enqueue();
      },
      options);
  EXPECT_EQ(calls, 1);  // the capture
  EXPECT_EQ(graph.costs().first_run_ns, 12345);
  EXPECT_EQ(graph.costs().warm_runs, 0);
  EXPECT_EQ(graph.costs().warm_ns, 0);
}

TEST_P(WorkerCapture, work_that_cannot_be_captured_is_refused_and_the_stream_goes_on) {
  CaptureOptions options;
  options.first_run_ns = 1;
  options.warm_runs = 0;
  const auto waits = [&] {
    enqueue();
    cudaStreamSynchronize(stream_);  // invalidates the capture
  };
  try {
    CapturedGraph::capture("[2]", stream_, waits, options);
    ADD_FAILURE() << "captured";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cudaStreamEndCapture"));
  }
  const auto throws = [] { throw std::invalid_argument("no such shape"); };
  EXPECT_THROW(CapturedGraph::capture("[2]", stream_, throws, options), std::invalid_argument);
  EXPECT_EQ(CapturedGraph::capture(
                "[2]", stream_, [&] { enqueue(); }, options)
                .costs()
                .nodes,
            3);
}

INSTANTIATE_TEST_SUITE_P(device, WorkerCapture,
                         testing::ValuesIn(std::vector<Way>{{Kind::kCuda, Precision::kFp32}}),
                         way_name);

}  // namespace
}  // namespace abba::device
