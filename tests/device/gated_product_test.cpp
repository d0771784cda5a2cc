// The gated product of our own on the GPU: every tile has the same bits, how many values differ
// from those of the library's product followed by geglu (recorded, not demanded), and how long it
// takes beside them, which it replaces up to kMostGatedRows rows. Times are those of one launch in
// a graph over weights that do not stay in the cache; recorded ("record gated ..."), held only
// against being toy-slow.
#include "engine/cuda/kernels/gated_product.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/cuda/kernels/geglu.h"
#include "engine/cuda/kernels/kernel_list.h"
#include "engine/cuda/kernels/kernel_set.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/product.h"
#include "engine/cuda/product_parts.h"
#include "engine/cuda/stream.h"
#include "tests/device/device.h"

namespace abba::device {
namespace {

constexpr cuda::GatedTile kTiles[] = {cuda::GatedTile::k64x32, cuda::GatedTile::k64x64,
                                      cuda::GatedTile::k128x128};
constexpr int kWeights = 8;  // of 10.7 MB: more than the cache
constexpr int kLaunches = 32;
constexpr int kReplays = 9;

class Memory {
 public:
  explicit Memory(const Buffer& values) : memory_(values.view().size_bytes(), "test input") {
    EXPECT_EQ(cudaMemcpy(memory_.data(), values.view().data(), memory_.size_bytes(),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] Buffer read(const Shape& shape) const {
    Buffer values(DType::kBf16, shape);
    EXPECT_EQ(cudaMemcpy(values.view().data(), memory_.data(), values.view().size_bytes(),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  cuda::DeviceBuffer memory_;
};

class GatedProduct : public EveryWay {
 protected:
  void SetUp() override {
    EveryWay::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    stream_ = std::make_unique<cuda::Stream>();
    kernels_ = std::make_unique<cuda::KernelSet>(cuda::all_kernels(), "test", cuda::load_kernel);
    for (const cuda::KernelRow& row : cuda::gated_product_kernels()) {
      ASSERT_TRUE(kernels_->is_available(row)) << row.name;
    }
  }
  [[nodiscard]] cuda::LaunchContext context() {
    return {stream_->get(), *kernels_, state_, Precision::kBf16, ops::Handles::kResolved};
  }
  Buffer run(cuda::GatedTile tile, std::int64_t rows, std::int64_t columns, std::int64_t depth,
             const Memory& x, const Memory& weight) {
    Buffer poisoned(DType::kBf16, Shape{rows, columns});
    poisoned.poison();
    const Memory y(poisoned);
    cuda::launch_gated_product(tile, rows, columns, depth, x.data(), weight.data(), y.data(),
                               context());
    stream_->synchronize();
    EXPECT_EQ(state_.first_error, 0) << state_.failed;
    return y.read(Shape{rows, columns});
  }
  // The median over replays of a graph of launches, per launch.
  double duration_us(const std::function<void(int)>& launch);

  std::unique_ptr<cuda::Stream> stream_;
  std::unique_ptr<cuda::KernelSet> kernels_;
  cuda::LaunchState state_;
};

double GatedProduct::duration_us(const std::function<void(int)>& launch) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int i = 0; i < kLaunches; ++i) launch(i % kWeights);
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
    if (i >= 2) replays.push_back(1000.0 * stop.elapsed_ms(start) / kLaunches);
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  std::nth_element(replays.begin(), replays.begin() + kReplays / 2, replays.end());
  return replays[kReplays / 2];
}

TEST_P(GatedProduct, every_tile_gives_the_same_bits) {
  struct Case {
    std::int64_t rows, columns, depth;
  };
  for (const Case& c : {Case{1, 2, 8}, Case{63, 130, 200}, Case{65, 66, 72}, Case{129, 320, 128},
                        Case{200, 2624, 1024}}) {
    const Memory x(random(DType::kBf16, Shape{c.rows, c.depth}));
    const Memory weight(random(DType::kBf16, Shape{2 * c.columns, c.depth}, 0.2F));
    const Buffer first = run(kTiles[0], c.rows, c.columns, c.depth, x, weight);
    for (const cuda::GatedTile tile : kTiles) {
      EXPECT_EQ(differing_bits(run(tile, c.rows, c.columns, c.depth, x, weight), first), 0)
          << c.rows << " x " << c.columns << " x " << c.depth;
    }
  }
}

// Both add 16 products at a time in the order of depth, but not by the same instructions.
TEST_P(GatedProduct, record_of_values_that_differ_from_the_library_and_geglu) {
  const std::int64_t columns = 2624;
  const std::int64_t depth = 1024;
  const Memory weight(random(DType::kBf16, Shape{2 * columns, depth}, 0.2F));
  for (const std::int64_t rows : {1, 48, 128}) {
    const Memory x(random(DType::kBf16, Shape{rows, depth}));
    const Memory y(random(DType::kBf16, Shape{rows, columns}));
    const cuda::DeviceBuffer sums(static_cast<std::size_t>(rows * 2 * columns * 4), "accumulators");
    cuda::Product library("bits", ops::Gemm::kHeuristic);
    const int plan = library.plan(
        {rows, 2 * columns, depth, cuda::Finish::kNone, DType::kBf16, DType::kF32}, nullptr);
    ASSERT_NE(plan, cuda::Product::kNoPlan);
    ASSERT_EQ(library.run(plan, weight.data(), x.data(), sums.data(), stream_->get()), 0);
    cuda::launch_geglu({rows, columns}, reinterpret_cast<const float*>(sums.data()), y.data(),
                       context());
    stream_->synchronize();
    const Buffer ours = run(kTiles[0], rows, columns, depth, x, weight);
    std::printf("record: gated %lld rows: %lld of %lld values differ from the library and geglu\n",
                static_cast<long long>(rows),
                static_cast<long long>(differing_bits(y.read(Shape{rows, columns}), ours)),
                static_cast<long long>(rows * columns));
  }
}

TEST_P(GatedProduct, time_beside_the_library_and_geglu) {
  if (!is_thorough()) GTEST_SKIP() << "reduced shapes";
  const std::int64_t columns = 2624;
  const std::int64_t depth = 1024;
  std::vector<Memory> weights;
  for (int i = 0; i < kWeights; ++i) {
    weights.emplace_back(random(DType::kBf16, Shape{2 * columns, depth}, 0.2F));
  }
  cuda::Product library("timing", ops::Gemm::kHeuristic);
  for (const std::int64_t rows : {48, 64, 176, 256, 512, 1496, 2048, 4096}) {
    const Memory x(random(DType::kBf16, Shape{rows, depth}));
    const Memory y(random(DType::kBf16, Shape{rows, columns}));
    for (const cuda::GatedTile tile : kTiles) {
      const double us = duration_us([&](int i) {
        cuda::launch_gated_product(tile, rows, columns, depth, x.data(),
                                   weights[static_cast<std::size_t>(i)].data(), y.data(),
                                   context());
      });
      const bool is_best = tile == cuda::best_gated_tile(rows, columns);
      std::printf("record gated %lld rows, tile %d%s: %.2f us\n", static_cast<long long>(rows),
                  static_cast<int>(tile), is_best ? " (chosen)" : "", us);
      if (is_best) {
        EXPECT_LE(us, 100.0 + 0.5 * static_cast<double>(rows));
      }
    }
    const ops::MatmulProblem problem{rows, columns, depth, ops::Epilogue::kGeglu, false};
    const std::int64_t step = cuda::rows_at_a_time(problem);
    const cuda::DeviceBuffer sums(static_cast<std::size_t>(step * 2 * columns * 4), "accumulators");
    const double us = duration_us([&](int i) {
      for (std::int64_t row = 0; row < rows; row += step) {
        const std::int64_t part = std::min(step, rows - row);
        const int plan = library.plan(
            {part, 2 * columns, depth, cuda::Finish::kNone, DType::kBf16, DType::kF32}, nullptr);
        EXPECT_EQ(library.run(plan, weights[static_cast<std::size_t>(i)].data(),
                              x.data() + row * depth * 2, sums.data(), stream_->get()),
                  0);
        cuda::launch_geglu({part, columns}, reinterpret_cast<const float*>(sums.data()),
                           y.data() + row * columns * 2, context());
      }
    });
    std::printf("record gated %lld rows, library and geglu: %.2f us\n",
                static_cast<long long>(rows), us);
  }
  EXPECT_EQ(state_.first_error, 0) << state_.failed;
}

INSTANTIATE_TEST_SUITE_P(device, GatedProduct, testing::Values(Way{Kind::kCuda, Precision::kBf16}),
                         way_name);

}  // namespace
}  // namespace abba::device
