#include "tests/device/first_divergence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace abba::device {
namespace {

// Two rows of three tokens, the second with one of padding; two columns.
model::Batch batch() {
  model::Batch batch;
  batch.shape = {2, 3, 1};
  batch.lengths = {3, 2};
  return batch;
}

Recording recording() {
  Recording all;
  for (const char* name : {"embedding", "encoder.0"}) {
    all.push_back({name, false, true, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  }
  return all;
}

TEST(FirstDivergence, EqualRecordingsDoNotPart) {
  EXPECT_FALSE(first_divergence(recording(), recording(), batch()).has_value());
}

TEST(FirstDivergence, NamesStageRowTokenColumnAndSteps) {
  Recording other = recording();
  other[1].values[7] = std::nextafter(8.0F, 9.0F);
  other[1].values[8] = 0.0F;
  const auto found = first_divergence(recording(), other, batch());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->stage, "encoder.0");
  EXPECT_EQ(found->batch_row, 1);
  EXPECT_EQ(found->token, 0);
  EXPECT_EQ(found->column, 1);
  EXPECT_EQ(found->first, 8.0F);
  EXPECT_EQ(found->differing, 2);
  EXPECT_FALSE(found->is_padding);
  EXPECT_NE(text_of(*found).find("encoder.0 row 1 token 0 column 1"), std::string::npos);
}

TEST(FirstDivergence, CountsStepsOfTheStagesOwnType) {
  Recording first = recording();
  Recording other = recording();
  first[0].is_bf16 = other[0].is_bf16 = true;
  other[0].values[0] = 1.0078125F;  // the next bf16 after 1
  EXPECT_EQ(first_divergence(first, other, batch())->ulp, 1);
  first[0].is_bf16 = other[0].is_bf16 = false;
  EXPECT_EQ(first_divergence(first, other, batch())->ulp, 65536);
  first[0].values[0] = -0.0F;
  other[0].values[0] = 0.0F;
  EXPECT_EQ(first_divergence(first, other, batch())->ulp, 0) << "other bits, the same value";
  other[0].values[0] = NAN;
  EXPECT_EQ(first_divergence(first, other, batch())->ulp, -1);
}

// Padding is looked at last: a later stage that is read comes before an earlier one that is not.
TEST(FirstDivergence, PaddingComesLastAndIsCalledSo) {
  Recording other = recording();
  other[0].values[11] = 0.0F;
  auto found = first_divergence(recording(), other, batch());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->is_padding);
  EXPECT_NE(text_of(*found).find("all of them padding"), std::string::npos);
  other[0].values[9] = 0.0F;
  EXPECT_EQ(first_divergence(recording(), other, batch())->token, 1);
  other[0].values[9] = 10.0F;
  other[1].values[0] = 0.0F;
  EXPECT_EQ(first_divergence(recording(), other, batch())->stage, "encoder.0");
}

}  // namespace
}  // namespace abba::device
