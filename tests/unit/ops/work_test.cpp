#include "engine/ops/work.h"

#include <gtest/gtest.h>

namespace abba::ops {
namespace {

TEST(Work, LocalPairsMatchTheClosedForms) {
  EXPECT_EQ(visible_pairs(65, 64), 65.0 * 65.0);
  EXPECT_EQ(visible_pairs(128, 64), 12352.0);
  EXPECT_EQ(visible_pairs(187, 64), 19963.0);
  EXPECT_EQ(visible_pairs(512, 64), 61888.0);
  EXPECT_EQ(visible_pairs(1024, 64), 127936.0);
  EXPECT_EQ(visible_pairs(187, kFullAttention), 187.0 * 187.0);
  EXPECT_EQ(visible_pairs(0, 64), 0.0);
}

TEST(Work, AProductCountsTwoOperationsAMultiplyAddAndEveryByteOnce) {
  const Work plain = work_of(MatmulProblem{3, 5, 7}, Precision::kBf16);
  EXPECT_EQ(plain.flops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(plain.bytes, 2.0 * (3 * 7 + 5 * 7 + 3 * 5));
  const Work gated = work_of(MatmulProblem{3, 5, 7, Epilogue::kGeglu}, Precision::kFp32);
  EXPECT_EQ(gated.flops, 2.0 * 3 * 10 * 7);
  EXPECT_EQ(gated.bytes, 4.0 * (3 * 7 + 10 * 7 + 3 * 5));
}

TEST(Work, RotationTouchesQAndKTwiceAndNotV) {
  const Work work = work_of(RopeProblem{2, 3, 4}, Precision::kBf16);
  EXPECT_EQ(work.flops, 3.0 * 2 * 3 * 4 * 128);
  EXPECT_EQ(work.bytes, 2.0 * 2 * (2 * 3 * 4 * 128) + 3 * 64 * 4.0);
}

TEST(Work, AttentionOverASubsetScalesWithItsQueries) {
  const Work few = work_of(SubsetAttentionProblem{2, 3, 100, 4}, Precision::kBf16);
  const Work all = work_of(AttentionProblem{2, 100, 4}, Precision::kBf16);
  EXPECT_DOUBLE_EQ(few.flops * 100.0 / 3.0, all.flops);
  EXPECT_LT(few.bytes, all.bytes);
}

}  // namespace
}  // namespace abba::ops
