// Which kernels a level loads, and what happens when one cannot be loaded: the substitute's bits,
// one attempt, one line, and a report. How many copies and launches a request is. CUDA alone; in a
// build without it these tests are one that skips (suite_test.cpp).
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "engine/cuda/backend.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/bias.h"
#include "engine/cuda/kernels/gated_product.h"
#include "engine/cuda/kernels/rope.h"
#include "engine/model/reference_forward.h"
#include "tests/device/subject.h"

namespace abba::device {
namespace {

using cuda::CudaBackend;
using cuda::KernelRow;
using cuda::Report;
using model::testing::run;

class KernelChoice : public NetworkTest {
 protected:
  using Attempts = std::map<std::string, int>;
  using Names = std::set<std::string>;
  // Counts how often each kernel was tried; those of `broken` cannot be loaded.
  static cuda::KernelLoader counting(Attempts& attempts, const Names& broken) {
    return [&attempts, broken](const KernelRow& kernel) -> std::string {
      ++attempts[std::string(kernel.name)];
      if (broken.contains(std::string(kernel.name))) return "made to fail by a test";
      return cuda::load_kernel(kernel);
    };
  }
  static constexpr std::int64_t kFewRows = 33;
  // Kernels that another can stand in for, of every source that has such ones.
  [[nodiscard]] Names replaceable() const;
  Instance with(const ops::Choices& choices, const cuda::KernelLoader& loader) {
    cuda::Settings settings;
    settings.precision = GetParam().way.precision;
    settings.choices = choices;
    Instance made;
    made.backend = std::make_unique<CudaBackend>(settings, loader);
    made.network = std::make_unique<model::Network>(config(), file_of("tiny"), *made.backend);
    return made;
  }
  [[nodiscard]] NamedBatch batch() const {
    return {"random_3x160", model::random_batch(config(), {3, 160, 5}, 21)};
  }
  // A broken kernel's level against the level that replaces it.
  void expect_substitute(const std::string& broken, const ops::Choices& asked,
                         const ops::Choices& substitute);
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_P(KernelChoice, a_level_of_rope_loads_its_kernel_and_no_other) {
  for (const ops::Variant& variant : ops::variant_table("rope").variants) {
    ops::Choices choices;
    ops::set_choice(choices, "rope", variant.name);
    Instance instance = make_instance(GetParam(), choices);
    run(*instance.network, batch().batch);
    const Report report = cuda::report_of(*instance.backend);
    for (int level = 0; level < 5; ++level) {
      const auto other = static_cast<ops::RopeVariant>(level);
      const KernelRow& kernel = cuda::rope_kernel_of(other, GetParam().way.precision);
      EXPECT_EQ(has(report.loaded_kernels, kernel.name), other == choices.rope)
          << variant.name << ": " << kernel.name;
    }
    EXPECT_TRUE(report.unavailable_kernels.empty());
  }
}

TEST_P(KernelChoice, a_level_of_bias_loads_its_kernel_and_no_other) {
  for (const ops::Variant& variant : ops::variant_table("bias").variants) {
    ops::Choices choices;
    ops::set_choice(choices, "bias", variant.name);
    Instance instance = make_instance(GetParam(), choices);
    run(*instance.network, batch().batch);
    const Report report = cuda::report_of(*instance.backend);
    for (const ops::BiasVariant other :
         {ops::BiasVariant::kStridedDiv64, ops::BiasVariant::kRows2d}) {
      const KernelRow& kernel = cuda::bias_kernel_of(other, GetParam().way.precision);
      EXPECT_EQ(has(report.loaded_kernels, kernel.name), other == choices.bias) << kernel.name;
    }
  }
}

void KernelChoice::expect_substitute(const std::string& broken, const ops::Choices& asked,
                                     const ops::Choices& substitute) {
  Attempts attempts;
  testing::internal::CaptureStderr();
  Instance failing = with(asked, counting(attempts, {broken}));
  const Outcome got = run(*failing.network, batch().batch);
  const Outcome again = run(*failing.network, batch().batch);
  // Other shapes ask again; the answer is remembered.
  run(*failing.network, model::random_batch(config(), {1, 33, 2}, 3));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(attempts[broken], 1) << "tried more than once";
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_NE(log.find(broken), std::string::npos) << log;
  const model::LaunchPlan& plan = failing.network->prepare(batch().batch.shape);
  EXPECT_EQ(plan.choices, substitute);
  const Report report = cuda::report_of(*failing.backend);
  ASSERT_EQ(report.unavailable_kernels.size(), 1U);
  EXPECT_EQ(report.unavailable_kernels[0].name, broken);
  EXPECT_FALSE(has(report.loaded_kernels, broken));
  Instance sound = make_instance(GetParam(), substitute);
  EXPECT_TRUE(same_bits(got, run(*sound.network, batch().batch))) << broken;
  EXPECT_TRUE(same_bits(again, got)) << broken;
}

TEST_P(KernelChoice, a_kernel_that_cannot_be_loaded_is_replaced_once_and_reported) {
  const Precision precision = GetParam().way.precision;
  for (const auto variant : {ops::RopeVariant::kR1H4, ops::RopeVariant::kR1H8,
                             ops::RopeVariant::kR2H4, ops::RopeVariant::kRowBlock32}) {
    ops::Choices asked;
    asked.rope = variant;
    ops::Choices substitute = asked;
    substitute.rope = ops::RopeVariant::kRowBlock32Div64;
    expect_substitute(std::string(cuda::rope_kernel_of(variant, precision).name), asked,
                      substitute);
  }
  ops::Choices asked;
  asked.bias = ops::BiasVariant::kRows2d;
  ops::Choices substitute = asked;
  substitute.bias = ops::BiasVariant::kStridedDiv64;
  expect_substitute(std::string(cuda::bias_kernel_of(asked.bias, precision).name), asked,
                    substitute);
}

KernelChoice::Names KernelChoice::replaceable() const {
  const Precision precision = GetParam().way.precision;
  Names names;
  for (const auto variant : {ops::RopeVariant::kR1H4, ops::RopeVariant::kR1H8,
                             ops::RopeVariant::kR2H4, ops::RopeVariant::kRowBlock32}) {
    names.emplace(cuda::rope_kernel_of(variant, precision).name);
  }
  names.emplace(cuda::bias_kernel_of(ops::BiasVariant::kRows2d, precision).name);
  if (is_bf16()) {  // fp32 has one attention kernel, and the library's gated product alone
    names.emplace(cuda::attention_kernel(cuda::AttentionTile::kRows16, precision).name);
    names.emplace(cuda::attention_kernel(cuda::AttentionTile::kRows64, precision).name);
    // The tile of the few rows below; more than kMostGatedRows go to the library anyway.
    const auto tile = cuda::best_gated_tile(kFewRows, config().intermediate_size);
    names.emplace(cuda::gated_product_kernel(tile).name);
  }
  return names;
}

// Kernels of several sources at once: each is tried once and said once, and the request goes on
// with what stands in for them, of the same bits.
TEST_P(KernelChoice, sources_that_cannot_be_loaded_are_replaced_whole) {
  const Names broken = replaceable();
  ops::Choices asked;
  asked.bias = ops::BiasVariant::kRows2d;
  ops::Choices substitute = asked;
  substitute.rope = ops::RopeVariant::kRowBlock32Div64;
  substitute.bias = ops::BiasVariant::kStridedDiv64;
  Attempts attempts;
  testing::internal::CaptureStderr();
  Instance failing = with(asked, counting(attempts, broken));
  const model::Batch few = model::random_batch(config(), {1, kFewRows, 2}, 3);
  const Outcome got = run(*failing.network, batch().batch);
  const Outcome got_few = run(*failing.network, few);
  EXPECT_TRUE(same_bits(got, run(*failing.network, batch().batch)));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(failing.network->prepare(batch().batch.shape).choices, substitute);

  const Report report = cuda::report_of(*failing.backend);
  Names unavailable;
  for (const auto& kernel : report.unavailable_kernels) unavailable.insert(kernel.name);
  const Precision precision = GetParam().way.precision;
  EXPECT_TRUE(unavailable.contains(std::string(cuda::rope_kernel_of(asked.rope, precision).name)));
  EXPECT_TRUE(unavailable.contains(std::string(cuda::bias_kernel_of(asked.bias, precision).name)));
  if (is_bf16()) {
    const auto gated = cuda::best_gated_tile(kFewRows, config().intermediate_size);
    EXPECT_TRUE(unavailable.contains(std::string(cuda::gated_product_kernel(gated).name)));
    EXPECT_TRUE(has(report.loaded_kernels,
                    cuda::attention_kernel(cuda::AttentionTile::kRows128, precision).name))
        << "attention took another tile";
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n')),
            report.unavailable_kernels.size())
      << log;
  for (const auto& kernel : report.unavailable_kernels) {
    EXPECT_TRUE(broken.contains(kernel.name)) << kernel.name;
    EXPECT_EQ(attempts[kernel.name], 1) << kernel.name;
  }
  for (const std::string& name : broken) EXPECT_FALSE(has(report.loaded_kernels, name)) << name;
  Instance sound = make_instance(GetParam(), substitute);
  EXPECT_TRUE(same_bits(got, run(*sound.network, batch().batch)));
  EXPECT_TRUE(same_bits(got_few, run(*sound.network, few)));
}

// A plan says so in words.
TEST_P(KernelChoice, the_plan_says_what_was_replaced) {
  Attempts attempts;
  const ops::Choices asked;
  const std::string broken(cuda::rope_kernel_of(asked.rope, GetParam().way.precision).name);
  Instance failing = with(asked, counting(attempts, {broken}));
  const std::string note = failing.network->prepare(batch().batch.shape).note;
  EXPECT_NE(note.find("rope: r1_h4 is unavailable"), std::string::npos) << note;
  EXPECT_NE(note.find("made to fail by a test"), std::string::npos) << note;
}

// An attention tile is replaced by any other: a row's bits do not depend on it.
TEST_P(KernelChoice, an_attention_tile_that_cannot_be_loaded_is_replaced) {
  if (!is_bf16()) return;  // fp32 has one kernel, and nothing in its place
  for (const auto tile : {cuda::AttentionTile::kRows16, cuda::AttentionTile::kRows64,
                          cuda::AttentionTile::kRows128}) {
    Attempts attempts;
    const std::string broken(cuda::attention_kernel(tile, Precision::kBf16).name);
    Instance failing = with({}, counting(attempts, {broken}));
    Instance sound = make_instance(GetParam());
    EXPECT_TRUE(same_bits(run(*failing.network, batch().batch), run(*sound.network, batch().batch)))
        << broken;
    EXPECT_LE(attempts[broken], 1) << broken;
  }
}

// So is a tile of the gated product, which few rows use.
TEST_P(KernelChoice, a_gated_tile_that_cannot_be_loaded_is_replaced) {
  if (!is_bf16()) return;  // fp32 has the library alone
  Attempts attempts;
  const model::Batch few = model::random_batch(config(), {2, 60, 3}, 22);
  const auto tile = cuda::best_gated_tile(2 * 60, config().intermediate_size);
  const std::string broken(cuda::gated_product_kernel(tile).name);
  Instance failing = with({}, counting(attempts, {broken}));
  Instance sound = make_instance(GetParam());
  EXPECT_EQ(run(*failing.network, few), run(*sound.network, few)) << broken;
  EXPECT_EQ(attempts[broken], 1) << broken;
  EXPECT_TRUE(has(cuda::report_of(*sound.backend).loaded_kernels, broken));
}

// A kernel without a substitute makes the shape impossible, in one sentence; the process goes on.
TEST_P(KernelChoice, a_kernel_without_a_substitute_is_an_error_with_its_name) {
  Attempts attempts;
  const std::string broken = is_bf16() ? "add_norm_bf16" : "add_norm_fp32";
  Instance failing = with({}, counting(attempts, {broken}));
  for (int time = 0; time < 2; ++time) {
    try {
      failing.network->prepare(batch().batch.shape);
      ADD_FAILURE() << "prepared without " << broken;
    } catch (const base::Error& error) {
      EXPECT_NE(std::string(error.what()).find(broken), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(attempts[broken], 1);
}

// upload = separate_sync copies ids, lengths and types by themselves and waits; grouped copies once
// and waits once, at the end.
TEST_P(KernelChoice, uploads_of_a_request_are_three_or_one) {
  for (const auto& [level, uploads] :
       {std::pair{ops::Upload::kSeparateSync, 3}, std::pair{ops::Upload::kGrouped, 1}}) {
    ops::Choices choices;
    choices.upload = level;
    choices.head_last_layer = ops::HeadLastLayer::kAllTokens;
    Instance instance = make_instance(GetParam(), choices);
    model::LaunchPlan& plan = instance.network->prepare(batch().batch.shape);
    instance.network->encode(plan, batch().batch);
    const Report before = cuda::report_of(*instance.backend);
    instance.network->encode(plan, batch().batch);
    const Report after = cuda::report_of(*instance.backend);
    EXPECT_EQ(after.uploads - before.uploads, uploads);
    EXPECT_EQ(after.synchronizations - before.synchronizations, uploads == 1 ? 1 : uploads + 1);
    std::cout << "record: tiny " << name_of(GetParam().way) << " launches of an encode with "
              << uploads << " uploads: " << after.launches - before.launches << "\n";
    EXPECT_GT(after.launches, before.launches);
  }
}

std::vector<Subject> tiny_on_cuda() {
  std::vector<Subject> all;
  for (const Way& way : cuda_ways()) all.push_back({"tiny", way});
  return all;
}
INSTANTIATE_TEST_SUITE_P(device, KernelChoice, testing::ValuesIn(tiny_on_cuda()), subject_name);

}  // namespace
}  // namespace abba::device
