// The owners of cuBLASLt's objects and the committed table of algorithms; no GPU is needed.
#include "engine/cuda/algorithm.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "engine/base/error.h"

namespace abba::cuda {
namespace {

using tensor::DType;

TEST(LtOwners, AreMadeAndMovedWithoutAGpu) {
  MatmulDescriptor descriptor = make_matmul_descriptor(Finish::kNone, nullptr, DType::kBf16);
  const void* handle = descriptor.get();
  MatmulDescriptor moved = std::move(descriptor);
  EXPECT_EQ(moved.get(), handle);
  EXPECT_EQ(descriptor.get(), nullptr);
  const int bias = 0;
  for (const Finish finish : {Finish::kBias, Finish::kReluBias, Finish::kRelu}) {
    EXPECT_NE(make_matmul_descriptor(finish, &bias, DType::kF32).get(), nullptr);
  }
  EXPECT_NE(make_matrix_layout(DType::kBf16, 1024, 48).get(), nullptr);
  EXPECT_NE(make_matmul_preference(1 << 20).get(), nullptr);
  moved = make_matmul_descriptor(Finish::kRelu, nullptr, DType::kF32);
  EXPECT_NE(moved.get(), nullptr);
}

TEST(LtOwners, AFailureOfTheLibraryIsOneSentence) {
  require_lt(0, "nothing");
  try {
    require_lt(7, "describing a product");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what()).find("cuBLASLt: failed while describing a product"),
              std::string::npos)
        << error.what();
  }
}

constexpr ProductProblem kProblem{48, 3072, 1024, Finish::kBias, DType::kBf16, DType::kBf16};
constexpr AlgorithmFields kFields{66, 15, 24, 1, 0, 1, 0, 3, 4};

TEST(PinnedAlgorithms, ARowHoldsForItsPlatformAndProblemAlone) {
  const std::array rows = {PinnedRow{"platform A", kProblem, kFields}};
  EXPECT_EQ(find_pinned(rows, "platform A", kProblem), kFields);
  EXPECT_EQ(find_pinned(rows, "platform B", kProblem), std::nullopt);
  for (int change = 0; change < 6; ++change) {
    ProductProblem other = kProblem;
    if (change == 0) other.rows += 1;
    if (change == 1) other.columns += 1;
    if (change == 2) other.depth += 1;
    if (change == 3) other.finish = Finish::kReluBias;
    if (change == 4) other.in = DType::kF32;
    if (change == 5) other.out = DType::kF32;
    EXPECT_EQ(find_pinned(rows, "platform A", other), std::nullopt) << change;
  }
}

// What the table cannot promise is refused by its own rule: additions in one order.
TEST(PinnedAlgorithms, NoCommittedRowSplitsTheDepthAndNoneIsThereTwice) {
  std::set<std::string> keys;
  for (const PinnedRow& row : pinned_rows()) {
    EXPECT_LE(row.fields.split_k, 1) << row_text(row);
    EXPECT_EQ(row.fields.reduction, 0U) << row_text(row);
    const std::string key = std::string(row.platform) + problem_text(row.problem);
    EXPECT_TRUE(keys.insert(key).second) << row_text(row);
  }
}

TEST(PinnedAlgorithms, TextsNameEverythingARowDependsOn) {
  EXPECT_EQ(platform_text(130100, 13000, 90, 132), "cublasLt 130100, driver 13000, sm_90 x 132");
  EXPECT_EQ(problem_text(kProblem), "bf16 48 x 3072 x 1024 -> bf16, bias");
  EXPECT_EQ(row_text({"platform A", kProblem, kFields}),
            "{\"platform A\", {48, 3072, 1024, Finish::kBias, kB, kB}, "
            "{66, 15, 24, 1, 0, 1, 0, 3, 4}},");
}

}  // namespace
}  // namespace abba::cuda
