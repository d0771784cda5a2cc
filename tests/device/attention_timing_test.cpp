// How long one attention launch takes on this GPU, every tile, at the model's shapes: replays of a
// graph of launches, so that the host's launch cost is not in it. Recorded ("record attention
// ..."), held only against being toy-slow: ten times what was seen when a figure was last written
// down.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "tests/device/launcher.h"

namespace abba::device {
namespace {

using ops::AttentionProblem;
using ops::SubsetAttentionProblem;

constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kWidth = kHeads * ops::kHeadDim;
constexpr int kReplays = 60;

class AttentionTiming : public AttentionLaunch {
 protected:
  // The least over replays of a graph of `launches`, per launch.
  double duration_us(int launches, const std::function<void()>& launch);
};

double AttentionTiming::duration_us(int launches, const std::function<void()>& launch) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int i = 0; i < launches; ++i) launch();
  EXPECT_EQ(cudaStreamEndCapture(stream_->get(), &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  const cuda::Event start(cuda::Event::Timing::kOn);
  const cuda::Event stop(cuda::Event::Timing::kOn);
  std::vector<double> replays;
  for (int i = 0; i < kReplays + 2; ++i) {
    start.record(*stream_);
    EXPECT_EQ(cudaGraphLaunch(executable, stream_->get()), cudaSuccess);
    stop.record(*stream_);
    stop.synchronize();
    if (i >= 2) replays.push_back(1000.0 * stop.elapsed_ms(start) / launches);
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return *std::min_element(replays.begin(), replays.end());
}

TEST_P(AttentionTiming, one_launch_at_the_models_shapes) {
  if (!is_thorough()) GTEST_SKIP() << "reduced shapes";
  struct Case {
    std::int64_t batch;
    std::int64_t length;
    double limit_us;  // bf16
  };
  for (const Case& c : {Case{1, 48, 60}, Case{1, 176, 80}, Case{1, 512, 200}, Case{4, 64, 60},
                        Case{8, 187, 200}, Case{32, 512, 2500}}) {
    if (!is_bf16() && c.batch > 8) continue;  // for checking, not for speed
    const Uploaded qkv{random(act(), Shape{c.batch * c.length, 3 * kWidth}, 2.0F)};
    const Uploaded out{random(act(), Shape{c.batch * c.length, kWidth})};
    const Uploaded counts{
        integers(Lengths(static_cast<std::size_t>(c.batch), static_cast<std::int32_t>(c.length)))};
    for (const std::int64_t window : {ops::kFullAttention, std::int64_t{64}}) {
      const AttentionProblem problem{c.batch, c.length, kHeads, window};
      const cuda::AttentionTile best = best_attention_tile(cuda::extent_of(problem));
      for (const cuda::AttentionTile tile : kTiles) {
        if (!is_bf16() && tile != best) continue;  // one kernel
        const double us = duration_us(c.batch * c.length > 4096 ? 2 : 32, [&] {
          cuda::launch_attention(problem, qkv.data(), counts.integers(), out.data(), context(),
                                 tile);
        });
        std::printf("record attention %s %lldx%lld %s rows%d%s %.2f us\n",
                    is_bf16() ? "bf16" : "fp32", static_cast<long long>(c.batch),
                    static_cast<long long>(c.length), window < 0 ? "full" : "window64",
                    cuda::rows_of(tile), tile == best ? " (chosen)" : "", us);
        EXPECT_LE(us, tile == best && is_bf16() ? c.limit_us : 1e6);
      }
    }
  }
  EXPECT_EQ(state_.first_error, 0) << state_.failed;
}

INSTANTIATE_TEST_SUITE_P(device, AttentionTiming, testing::ValuesIn(cuda_ways()), way_name);

}  // namespace
}  // namespace abba::device
