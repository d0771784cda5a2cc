#include "engine/model/batch.h"

#include <gtest/gtest.h>

#include <functional>

#include "engine/base/error.h"
#include "engine/model/reference_forward.h"

namespace abba::model {
namespace {

checkpoint::ModelConfig config() {
  return checkpoint::family_config("tiny");
}

Batch good() {
  const std::vector<Row> rows = {{{5, 6, 7, 8}, 0, {1, 3}}, {{9, 10}, 2, {1}}};
  return make_batch(rows, 50283);
}

std::string refusal(const Batch& batch) {
  try {
    check_batch(batch, config());
  } catch (const base::Error& e) {
    EXPECT_EQ(e.code(), base::ErrorCode::kBadInput);
    return e.what();
  }
  return "";
}

TEST(Batch, IsPaddedToTheLongestRowAndTheMostMarkers) {
  const Batch batch = good();
  EXPECT_EQ(batch.shape, (Shape{2, 4, 2}));
  EXPECT_EQ(batch.ids, (std::vector<std::int32_t>{5, 6, 7, 8, 9, 10, 50283, 50283}));
  EXPECT_EQ(batch.lengths, (std::vector<std::int32_t>{4, 2}));
  EXPECT_EQ(batch.types, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(batch.markers, (std::vector<std::int32_t>{1, 3, 1, 0}));
  EXPECT_EQ(batch.counts, (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(refusal(batch), "");
}

TEST(Batch, EachMistakeIsOneSentenceThatNamesItsRow) {
  struct Case {
    std::function<void(Batch&)> spoil;
    std::string says;
  };
  const std::vector<Case> cases = {
      {[](Batch& b) { b.ids[5] = -1; }, "row 1: has token id -1 at position 1"},
      {[](Batch& b) { b.ids[7] = 50368; }, "row 1: has token id 50368 at position 3"},
      {[](Batch& b) { b.lengths[0] = 0; }, "row 0: the length is 0"},
      {[](Batch& b) { b.lengths[0] = 5; }, "row 0: the length is 5"},
      {[](Batch& b) { b.types[1] = 3; }, "row 1: the question type is 3"},
      {[](Batch& b) { b.types[1] = -1; }, "row 1: the question type is -1"},
      {[](Batch& b) { b.counts[1] = 0; }, "row 1: the number of markers is 0"},
      {[](Batch& b) { b.counts[1] = 3; }, "row 1: the number of markers is 3"},
      {[](Batch& b) { b.markers[1] = 4; }, "row 0: has marker 1 at position 4"},
      {[](Batch& b) { b.markers[2] = 2; }, "row 1: has marker 0 at position 2; the row has 2"},
      {[](Batch& b) { b.markers[0] = -1; }, "row 0: has marker 0 at position -1"},
      {[](Batch& b) { b.markers[3] = 1; }, "row 1: has marker 1 at position 1; slots beyond"},
      {[](Batch& b) { b.ids.pop_back(); }, "batch: has arrays whose sizes"},
      {[](Batch& b) { b.shape.tokens = 0; }, "shape: has 2 rows, 0 tokens"},
      {[](Batch& b) { b.shape.rows = -1; }, "shape: has -1 rows"},
      {[](Batch& b) { b.shape.tokens = 9000; }, "at most 8192"},
      {[](Batch& b) { b.shape.rows = std::int64_t{1} << 62U; }, "split the batch"},
      {[](Batch& b) { b.shape.options = 5; }, "more options than tokens"},
  };
  for (const Case& c : cases) {
    Batch batch = good();
    c.spoil(batch);
    EXPECT_NE(refusal(batch).find(c.says), std::string::npos)
        << "expected '" << c.says << "' in '" << refusal(batch) << "'";
  }
}

TEST(Batch, RowsThatCannotBePaddedAreRefused) {
  EXPECT_THROW(static_cast<void>(make_batch({}, 0)), base::Error);
  const std::vector<Row> empty_row = {{{}, 0, {0}}};
  EXPECT_THROW(static_cast<void>(make_batch(empty_row, 0)), base::Error);
  const std::vector<Row> one = {{{1}, 0, {0}}};
  EXPECT_THROW(static_cast<void>(make_batch(one, 0, {2, 1, 1})), base::Error);
  EXPECT_EQ(make_batch(one, 0, {1, 16, 4}).shape, (Shape{1, 16, 4}));
  // 16 rows of 2^60 tokens or slots: the product is 2^64, which would pass for nothing to allocate.
  const std::vector<Row> sixteen(16, one[0]);
  const std::int64_t huge = std::int64_t{1} << 60U;
  EXPECT_THROW(static_cast<void>(make_batch(sixteen, 0, {16, huge, 1})), base::Error);
  EXPECT_THROW(static_cast<void>(make_batch(sixteen, 0, {16, 1, huge})), base::Error);
}

TEST(Batch, RandomBatchesAreSoundAndSeeded) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{4, 64, 5}, Shape{3, 7, 7}}) {
    const Batch batch = random_batch(config(), shape, 3);
    EXPECT_EQ(batch.shape, shape);
    EXPECT_EQ(refusal(batch), "");
    EXPECT_EQ(batch.ids, random_batch(config(), shape, 3).ids);
    if (shape.tokens > 1) {  // a single token is the marker
      EXPECT_NE(batch.ids, random_batch(config(), shape, 4).ids);
    }
  }
}

}  // namespace
}  // namespace abba::model
