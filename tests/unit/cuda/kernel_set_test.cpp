// What could not be loaded is remembered, said once and never tried again; a level loads its own
// kernel and no other.
#include "engine/cuda/kernels/kernel_set.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/cuda/kernels/kernel_list.h"
#include "engine/cuda/kernels/rope.h"

namespace abba::cuda {
namespace {

const KernelRow kGood{"good", reinterpret_cast<const void*>(1), 0};
const KernelRow kBad{"bad", reinterpret_cast<const void*>(2), 0};

TEST(KernelSet, AFailureIsTriedOnceSaidOnceAndReported) {
  std::map<std::string, int> attempts;
  const std::vector<KernelRow> rows = {kGood, kBad};
  KernelSet kernels(rows, "GPU X", [&](const KernelRow& kernel) -> std::string {
    ++attempts[std::string(kernel.name)];
    return kernel.name == "bad" ? "no binary for this chip" : "";
  });
  EXPECT_TRUE(kernels.loaded().empty());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(kernels.is_available(kGood));
    EXPECT_FALSE(kernels.is_available(kBad));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "abba: kernel bad is unavailable on GPU X: no binary for this chip\n");
  EXPECT_EQ(attempts["good"], 1);
  EXPECT_EQ(attempts["bad"], 1);
  EXPECT_EQ(kernels.loaded(), std::vector<std::string>{"good"});
  ASSERT_EQ(kernels.unavailable().size(), 1U);
  EXPECT_EQ(kernels.unavailable()[0].name, "bad");
  EXPECT_EQ(kernels.reason(kBad), "no binary for this chip");
  EXPECT_EQ(kernels.reason(kGood), "");
}

TEST(KernelSet, NamesFindTheAddressesThatResolvedHandlesKeep) {
  const std::vector<KernelRow> rows = all_kernels();
  const KernelSet kernels(rows, "GPU X", [](const KernelRow&) { return ""; });
  std::set<const void*> addresses;
  for (const KernelRow& row : rows) {
    EXPECT_EQ(kernels.find(row.name), row.function) << row.name;
    EXPECT_TRUE(addresses.insert(row.function).second) << row.name << " is listed twice";
  }
  EXPECT_EQ(kernels.find("no such kernel"), nullptr);
  EXPECT_GT(rows.size(), 20U);
}

TEST(KernelSet, EveryLevelOfRopeLoadsAKernelOfItsOwn) {
  for (const ops::Precision precision : {ops::Precision::kBf16, ops::Precision::kFp32}) {
    std::set<std::string_view> names;
    for (const auto variant :
         {ops::RopeVariant::kRowBlock32, ops::RopeVariant::kRowBlock32Div64,
          ops::RopeVariant::kR1H4, ops::RopeVariant::kR2H4, ops::RopeVariant::kR1H8}) {
      const std::string_view name = rope_kernel_of(variant, precision).name;
      EXPECT_TRUE(name.ends_with(precision == ops::Precision::kBf16 ? "_bf16" : "_fp32")) << name;
      names.insert(name);
    }
    EXPECT_EQ(names.size(), 5U);
  }
}

TEST(KernelSetDeathTest, AKernelThatNoListNamesIsOurMistake) {
  const std::vector<KernelRow> rows = {kGood};
  KernelSet kernels(rows, "GPU X", [](const KernelRow&) { return ""; });
  EXPECT_DEATH(kernels.is_available(kBad), "");
  const std::vector<KernelRow> twice = {kGood, kGood};
  EXPECT_DEATH(KernelSet(twice, "GPU X", [](const KernelRow&) { return ""; }), "");
}

}  // namespace
}  // namespace abba::cuda
