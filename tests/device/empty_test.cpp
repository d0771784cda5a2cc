// Empty inputs of every operation start nothing, change nothing and fail nothing: a grid of zero
// blocks is an error to a GPU.
#include "tests/device/device.h"

namespace abba::device {
namespace {

class Empty : public EveryWay {
 protected:
  // Nothing was launched since `before`, and a real operation still works.
  void expect_nothing_since(std::int64_t before, const char* what) {
    EXPECT_EQ(backend_->launch_count(), before) << what;
    EXPECT_NO_THROW(backend_->synchronize()) << what;
  }
};

TEST_P(Empty, rowwise_operations_start_nothing) {
  constexpr std::int64_t kHidden = 64;
  const Buffer gain = random(DType::kF32, Shape{kHidden});
  const Buffer table = random(DType::kF32, Shape{5, kHidden});
  const ops::WeightId gain_id = vector(gain, ops::VectorRole::kNorm);
  const ops::WeightId bias_id = vector(gain, ops::VectorRole::kBias);
  const ops::WeightId table_id = backend_->prepare_table("table", table.view());
  const ops::WeightId types_id =
      backend_->prepare_type_table("types", table.view().slice_rows(0, 3));
  const ops::WeightId rope_id = backend_->prepare_rope(10000.0F, 8);
  Tensor none = output(act(), Shape{0, kHidden});
  Tensor wide = output(DType::kF32, Shape{0, kHidden});
  Tensor integers = output(DType::kI32, Shape{0});
  Tensor canary = on_device(random(act(), Shape{4, kHidden}));
  const Buffer kept = canary.read();
  const std::int64_t before = backend_->launch_count();
  backend_->embed_norm({0, kHidden, 5}, table_id, gain_id, integers.view(), wide.view(),
                       none.view());
  expect_nothing_since(before, "embed_norm");
  backend_->layer_norm({0, kHidden}, gain_id, {}, wide.view(), none.view());
  expect_nothing_since(before, "layer_norm");
  backend_->add_norm({0, kHidden}, gain_id, {}, none.view(), wide.view(), none.view());
  expect_nothing_since(before, "add_norm");
  backend_->add({0, kHidden}, none.view(), wide.view());
  expect_nothing_since(before, "add");
  Tensor qkv = output(act(), Shape{0, 3 * kHidden});
  for (int variant = 0; variant < 5; ++variant) {
    const auto level = static_cast<ops::RopeVariant>(variant);
    backend_->rope({0, 8, 1, level}, rope_id, qkv.view());
    backend_->rope({2, 0, 1, level}, rope_id, qkv.view());
    expect_nothing_since(before, "rope");
  }
  backend_->transpose_heads({0, 3, 1}, none.view(), none.view());
  backend_->transpose_heads({2, 0, 1}, none.view(), none.view());
  expect_nothing_since(before, "transpose_heads");
  for (const auto variant : {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
    backend_->add_bias({0, kHidden, false, variant}, bias_id, none.view());
    expect_nothing_since(before, "add_bias");
  }
  Tensor accumulators = output(DType::kF32, Shape{0, 2 * kHidden});
  backend_->geglu({0, kHidden}, accumulators.view(), none.view());
  expect_nothing_since(before, "geglu");
  backend_->type_embedding({0, 3, kHidden}, types_id, none.view(), integers.view(), wide.view());
  expect_nothing_since(before, "type_embedding");
  backend_->gather_rows({0, 4, kHidden}, canary.view(), integers.view(), none.view());
  expect_nothing_since(before, "gather_rows");
  Tensor slots = output(act(), Shape{0, 1});
  Tensor logits = output(DType::kF32, Shape{0, 3});
  Tensor features = output(act(), Shape{0, kHidden + 4});
  backend_->action_features({0, 3, kHidden}, slots.view(), integers.view(), wide.view(),
                            logits.view(), features.view());
  expect_nothing_since(before, "action_features");
  EXPECT_EQ(differing_bits(canary.read(), kept), 0);
}

// The host's backend refuses to plan a product of no rows.
TEST_P(Empty, a_product_of_no_rows_starts_nothing) {
  if (!is_cuda()) return;
  const Buffer weight = random(DType::kF32, Shape{128, 64});
  const ops::WeightId id = matrix(weight);
  Tensor x = output(act(), Shape{0, 64});
  for (const auto epilogue :
       {ops::Epilogue::kNone, ops::Epilogue::kRelu, ops::Epilogue::kGelu, ops::Epilogue::kGeglu}) {
    const std::int64_t columns = epilogue == ops::Epilogue::kGeglu ? 64 : 128;
    Tensor y = output(act(), Shape{0, columns});
    const ops::MatmulId product = backend_->plan_matmul({0, columns, 64, epilogue}, id, {});
    const std::int64_t before = backend_->launch_count();
    backend_->matmul(product, x.view(), y.view());
    expect_nothing_since(before, "matmul");
  }
}

// Canary: the same operation on one row does start something, where starts are counted.
TEST_P(Empty, canary_one_row_starts_something) {
  const Buffer gain = random(DType::kF32, Shape{64});
  Tensor x = on_device(random(DType::kF32, Shape{1, 64}));
  Tensor y = output(act(), Shape{1, 64});
  const std::int64_t before = backend_->launch_count();
  backend_->layer_norm({1, 64}, vector(gain, ops::VectorRole::kNorm), {}, x.view(), y.view());
  EXPECT_EQ(backend_->launch_count() - before, is_cuda() ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(device, Empty, testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace abba::device
