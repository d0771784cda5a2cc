#include "tests/device/known_discrepancies.h"

#include <gtest/gtest.h>

#include "tests/device/subject.h"

namespace abba::device {
namespace {

TEST(KnownDiscrepancies, TheWorstFailingStageIsTheEntry) {
  const std::vector<model::StageError> errors = {{"embedding", 0.004, 0.01, 3.0},
                                                 {"encoder.0", 0.006, 0.01, 3.0},
                                                 {"encoder.1", 0.007, 0.01, 3.0},
                                                 {"encoder.2", 0.001, 0.2, 3.0}};
  const Discrepancy found = discrepancy_of(errors);
  EXPECT_EQ(found.stage, "encoder.1");
  EXPECT_EQ(found.nrms, 0.007);
  EXPECT_LT(discrepancy_of({errors.data(), 1}).nrms, 0.0);
  EXPECT_EQ(discrepancy_of({errors.data() + 3, 1}).stage, "encoder.2") << "max-abs alone";
}

TEST(KnownDiscrepancies, OnlyWhatIsListedAndNotWorsePasses) {
  const Discrepancy listed{"cuda", "bf16", "english", "score", "encoder.27", 0.007, 0.5, 30.0};
  EXPECT_EQ(judge(listed, {&listed, 1}), "");
  EXPECT_NE(judge(listed, {}), "") << "not listed";
  Discrepancy other = listed;
  other.nrms = 0.0075;
  EXPECT_EQ(judge(other, {&listed, 1}), "");
  other.nrms = 0.0078;
  EXPECT_NE(judge(other, {&listed, 1}).find("worse"), std::string::npos);
  other = listed;
  other.max_abs = 0.56;
  EXPECT_NE(judge(other, {&listed, 1}).find("worse"), std::string::npos);
  other = listed;
  other.backend = "cpu";
  EXPECT_NE(judge(other, {&listed, 1}).find("not listed"), std::string::npos);
  Discrepancy none;
  none.nrms = -1.0;
  EXPECT_EQ(judge(none, {}), "");
}

TEST(KnownDiscrepancies, TheFileIsReadAndStatesTheLimits) {
  const std::string path = data_path("known_discrepancies.json");
  for (const Discrepancy& entry : read_discrepancies(path)) {
    const bool fails =
        !model::meets_parity_pair({entry.stage, entry.nrms, entry.max_abs, entry.largest});
    EXPECT_TRUE(fails) << "meets the pair, so it is no discrepancy: " << line_of(entry);
  }
}

}  // namespace
}  // namespace abba::device
