#include "engine/base/error.h"
#include "tests/unit/cpu/test_data.h"

namespace abba::cpu {
namespace {

Settings with_threads(int threads) {
  Settings settings;
  settings.threads = threads;
  return settings;
}

TEST(Settings, thread_counts_outside_the_range_are_refused) {
  EXPECT_THROW((void)make_backend(with_threads(0)), base::Error);
  EXPECT_THROW((void)make_backend(with_threads(-1)), base::Error);
  EXPECT_THROW((void)make_backend(with_threads(257)), base::Error);
  EXPECT_NE(make_backend(with_threads(2)), nullptr);
}

TEST(Settings, what_the_machine_lacks_is_refused_and_the_rest_is_granted) {
  Settings settings;
  settings.isa = Isa::kAvx512;
  if (!capabilities().avx512) {
    EXPECT_THROW((void)make_backend(settings), base::Error);
  } else {
    EXPECT_NE(make_backend(settings), nullptr);
  }
  settings = {};
  settings.product = ProductPath::kAvx512Bf16;
  if (!capabilities().avx512_bf16) {
    EXPECT_THROW((void)make_backend(settings), base::Error);
  } else {
    EXPECT_EQ(make_backend(settings)->product_path(), "oneDNN 2.6.3 avx512_bf16");
  }
}

TEST(Settings, the_widened_product_can_be_forced_and_is_named) {
  Settings settings;
  settings.product = ProductPath::kWidened;
  const auto backend = make_backend(settings);
  EXPECT_EQ(backend->name(), "cpu");
  EXPECT_NE(backend->product_path().find("oneDNN"), std::string::npos);
  EXPECT_NE(backend->product_path().find(": widened"), std::string::npos);
  settings.precision = Precision::kFp32;
  EXPECT_NE(make_backend(settings)->product_path().find(": fp32"), std::string::npos);
}

TEST(Settings, the_description_names_instructions_product_and_library) {
  const Description found = describe();
  EXPECT_EQ(found.isa, capabilities().avx512 ? "avx512" : "avx2");
  EXPECT_EQ(found.product, capabilities().avx512_bf16 ? "avx512_bf16" : "widened");
  EXPECT_EQ(found.library.rfind("oneDNN 2.", 0), 0U);
  EXPECT_EQ(describe(Isa::kAvx2, ProductPath::kWidened).isa, "avx2");
}

// Weights keep two bytes an element on either product path: what the memory limit rests on.
TEST(Settings, bf16_weights_take_two_bytes_an_element) {
  Buffer weight(DType::kF32, Shape{512, 256});
  for (int i = 0; i < 512 * 256; ++i) weight.as<float>()[i] = static_cast<float>(i % 7);
  const auto backend = make_backend({});
  (void)backend->prepare_matrix("w", weight.view());
  EXPECT_EQ(backend->weight_bytes(), 512U * 256U * 2U);
}

TEST(Settings, arenas_are_aligned) {
  const auto arena = make_backend({})->make_arena(1000);
  EXPECT_EQ(arena->size_bytes(), 1000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->data()) % 256, 0U);
}

TEST(Settings, uploads_and_downloads_round_trip) {
  const auto backend = make_backend({});
  const std::vector<float> values = {1.0F, -2.5F, 3e4F};
  Buffer wide(DType::kF32, Shape{3, 1});
  std::vector<float> back(3);
  backend->upload(values.data(), wide.view());
  backend->download(wide.view(), back.data());
  EXPECT_EQ(back, values);
  Buffer narrow(DType::kBf16, Shape{3, 1});
  base::convert(values.data(), narrow.as<base::Bf16>(), 3);
  backend->download(narrow.view(), back.data());
  EXPECT_EQ(back[1], -2.5F);
}

}  // namespace
}  // namespace abba::cpu
