// How many kernels a forward pass starts, counted on the plan itself: the forward pass of
// engine/model over a backend that computes on the host and counts what the device would launch.
// The worker states the measured count as a fact; tests/device compares the two.
#include <gtest/gtest.h>

#include "engine/cuda/kernels/plain_product.h"
#include "engine/cuda/product_parts.h"
#include "engine/model/network.h"
#include "engine/model/reference_forward.h"
#include "tests/unit/model/plain_backend.h"
#include "tests/unit/model/small_checkpoint.h"

namespace abba::cuda {
namespace {

using model::testing::PlainBackend;
using model::testing::small_config;
using model::testing::SmallCheckpoint;
using tensor::ConstView;
using tensor::View;

class CountingBackend final : public PlainBackend {
 public:
  using PlainBackend::attention;
  explicit CountingBackend(const ops::Choices& choices) : PlainBackend(choices) {}
  std::int64_t launches = 0;
  std::int64_t uploads = 0;

  ops::MatmulId plan_matmul(const ops::MatmulProblem& p, ops::WeightId w,
                            ops::WeightId b) override {
    const ops::MatmulId id = PlainBackend::plan_matmul(p, w, b);
    launches_of_.resize(static_cast<std::size_t>(id.index) + 1);
    launches_of_.back() = launches_of(p, ops::Precision::kBf16);
    return id;
  }
  void upload(const void* bytes, View to) override {
    ++uploads;
    PlainBackend::upload(bytes, to);
  }
  void upload_all(std::span<const ops::Transfer> transfers) override {
    ++uploads;
    for (const ops::Transfer& t : transfers) PlainBackend::upload(t.bytes, t.to);
  }
  void embed_norm(const ops::EmbedNormProblem& p, ops::WeightId table, ops::WeightId gain,
                  ConstView ids, View residual, View normed) override {
    ++launches;
    PlainBackend::embed_norm(p, table, gain, ids, residual, normed);
  }
  void layer_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias, ConstView x,
                  View y) override {
    if (!inside_) ++launches;
    PlainBackend::layer_norm(p, gain, bias, x, y);
  }
  void add_norm(const ops::NormProblem& p, ops::WeightId gain, ops::WeightId bias, ConstView branch,
                View residual, View y) override {
    ++launches;
    inside_ = true;  // the host's add_norm calls add and layer_norm
    PlainBackend::add_norm(p, gain, bias, branch, residual, y);
    inside_ = false;
  }
  void add(const ops::AddProblem& p, ConstView branch, View residual) override {
    if (!inside_) ++launches;
    PlainBackend::add(p, branch, residual);
  }
  void rope(const ops::RopeProblem& p, ops::WeightId table, View qkv) override {
    ++launches;
    PlainBackend::rope(p, table, qkv);
  }
  void attention(const ops::AttentionProblem& p, ConstView qkv, ConstView lengths,
                 View out) override {
    ++launches;
    PlainBackend::attention(p, qkv, lengths, out);
  }
  void attention(const ops::SubsetAttentionProblem& p, ConstView q, ConstView kv, ConstView lengths,
                 View out) override {
    ++launches;
    PlainBackend::attention(p, q, kv, lengths, out);
  }
  void transpose_heads(const ops::TransposeHeadsProblem& p, ConstView by_head,
                       View by_row) override {
    ++launches;
    PlainBackend::transpose_heads(p, by_head, by_row);
  }
  void matmul(ops::MatmulId id, ConstView x, View y) override {
    launches += launches_of_[static_cast<std::size_t>(id.index)];
    PlainBackend::matmul(id, x, y);
  }
  void add_bias(const ops::BiasProblem& p, ops::WeightId bias, View y) override {
    ++launches;
    PlainBackend::add_bias(p, bias, y);
  }
  void type_embedding(const ops::TypeEmbeddingProblem& p, ops::WeightId table, ConstView h,
                      ConstView types, View x) override {
    ++launches;
    PlainBackend::type_embedding(p, table, h, types, x);
  }
  void gather_rows(const ops::GatherProblem& p, ConstView x, ConstView indices, View y) override {
    ++launches;
    PlainBackend::gather_rows(p, x, indices, y);
  }

 private:
  std::vector<std::int64_t> launches_of_;
  bool inside_ = false;
};

struct Count {
  std::int64_t launches = 0;
  std::int64_t uploads = 0;
};

// Of the encoder boundary.
Count count_of(const ops::Choices& choices) {
  static const SmallCheckpoint checkpoint(small_config());
  CountingBackend backend(choices);
  model::Network network(small_config(), checkpoint.file(), backend);
  const model::Batch batch = model::random_batch(small_config(), {1, 23, 3}, 8);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  network.encode(plan, batch);
  return {backend.launches, backend.uploads};
}

// The counts are linear in the layers, so a small network shows the parts of the large one's.
TEST(LaunchCount, IsWhatTheOperationsAddUpTo) {
  const auto config = small_config();
  const std::int64_t layers = config.layer_count;
  ASSERT_EQ(config.head_layer_count, 2);
  ops::Choices best;
  best.head_last_layer = ops::HeadLastLayer::kAllTokens;
  // qkv, rope, attention, out, add+LN, gated up, down, add+LN; 7 a decision layer and its first LN:
  // 1 + 8 * 28 + 1 + 1 + 14 = 241 for the English model, whose seed counts 242.
  EXPECT_EQ(count_of(best).launches, 1 + 8 * layers + 1 + 1 + 2 * 7);
  ops::Choices seed = best;
  seed.rope = ops::RopeVariant::kRowBlock32;
  seed.attention_output = ops::AttentionOutput::kHeadMajor;  // a transpose after each attention
  seed.bias = ops::BiasVariant::kStridedDiv64;               // four more a decision layer
  seed.upload = ops::Upload::kSeparateSync;
  EXPECT_EQ(count_of(seed).launches, 1 + 9 * layers + 1 + 1 + 2 * (7 + 1 + 4));
  ops::Choices marker_rows;
  // Queries and keys apart, two gathers.
  EXPECT_EQ(count_of(marker_rows).launches, 1 + 8 * layers + 1 + 1 + 7 + 7 + 3);
}

TEST(LaunchCount, UploadsOfTheEncoderBoundary) {
  ops::Choices choices;
  choices.head_last_layer = ops::HeadLastLayer::kAllTokens;
  EXPECT_EQ(count_of(choices).uploads, 1);
  choices.upload = ops::Upload::kSeparateSync;
  EXPECT_EQ(count_of(choices).uploads, 3);  // ids, lengths, types
}

TEST(LaunchCount, AGatedProductOfFewRowsIsOneKernel) {
  constexpr auto kBf16 = ops::Precision::kBf16;
  ops::MatmulProblem gated{48, 2624, 1024, ops::Epilogue::kGeglu, false};
  EXPECT_EQ(launches_of(gated, kBf16), 1);
  EXPECT_EQ(launches_of(gated, ops::Precision::kFp32), 2);
  gated.rows = kMostGatedRows;
  EXPECT_TRUE(uses_gated_kernel(gated, kBf16));
  ++gated.rows;
  EXPECT_FALSE(uses_gated_kernel(gated, kBf16));
  EXPECT_FALSE(uses_gated_kernel({48, 131, 1024, ops::Epilogue::kGeglu, false}, kBf16));
  EXPECT_FALSE(uses_gated_kernel({48, 128, 97, ops::Epilogue::kGeglu, false}, kBf16));
  EXPECT_FALSE(uses_gated_kernel({48, 128, 128, ops::Epilogue::kGelu, true}, kBf16));
  EXPECT_EQ(launches_of({0, 128, 128, ops::Epilogue::kGeglu, false}, kBf16), 0);
}

TEST(LaunchCount, ALargeGatedProductGoesPieceByPiece) {
  constexpr auto kBf16 = ops::Precision::kBf16;
  ops::MatmulProblem gated{16384, 2624, 1024, ops::Epilogue::kGeglu, false};
  const std::int64_t step = rows_at_a_time(gated);
  EXPECT_EQ(step, 5632);
  EXPECT_LE(step * product_columns(gated) * 4, kMostAccumulatorBytes);
  EXPECT_EQ(launches_of(gated, kBf16), 2 * ((16384 + step - 1) / step));
  gated.rows = 48;
  EXPECT_EQ(rows_at_a_time(gated), 48);
  gated.columns = std::int64_t{1} << 40U;
  gated.rows = 1000;
  EXPECT_EQ(rows_at_a_time(gated), kLeastRows);
  EXPECT_EQ(launches_of({48, 3072, 1024, ops::Epilogue::kNone, false}, kBf16), 1);
  EXPECT_EQ(launches_of({48, 4096, 1024, ops::Epilogue::kRelu, true}, kBf16), 1);
  EXPECT_EQ(launches_of({4, 1024, 1024, ops::Epilogue::kGelu, true}, kBf16), 2);
}

TEST(LaunchCount, OutputsOfAFewColumnsGoWithoutTheLibrary) {
  EXPECT_FALSE(uses_library({4, 1, 1024, ops::Epilogue::kNone, true}));
  EXPECT_FALSE(uses_library({4, 7, 1024, ops::Epilogue::kNone, true}));
  EXPECT_TRUE(uses_library({4, 8, 1024, ops::Epilogue::kNone, true}));
  EXPECT_TRUE(uses_library({4, 4, 1024, ops::Epilogue::kGeglu, false}));
}

TEST(LaunchCount, APlainProductTakesAWarpAnElementUpToTheLargestGrid) {
  EXPECT_EQ(plain_product_geometry(3, 3), (Geometry{{2}, {32, 8}}));
  EXPECT_EQ(plain_product_geometry(8, 1), (Geometry{{1}, {32, 8}}));
  EXPECT_TRUE(plain_product_geometry(0, 5).is_empty());
  EXPECT_TRUE(is_launchable(plain_product_geometry(8 * kMostGridX, 1)));
  EXPECT_EQ(plain_product_refusal(8 * kMostGridX, 1), "");
  EXPECT_NE(plain_product_refusal(8 * kMostGridX + 1, 1), "");
  EXPECT_NE(plain_product_refusal(std::int64_t{1} << 62U, std::int64_t{1} << 62U), "");
}

TEST(LaunchCount, BiasAndReluGoIntoTheProductsOwnRounding) {
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kNone, false}), Finish::kNone);
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kNone, true}), Finish::kBias);
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kRelu, false}), Finish::kRelu);
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kRelu, true}), Finish::kReluBias);
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kGelu, true}), Finish::kBias);
  EXPECT_EQ(finish_of({1, 1, 1, ops::Epilogue::kGeglu, false}), Finish::kNone);
}

}  // namespace
}  // namespace abba::cuda
