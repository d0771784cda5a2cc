#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/stats/family.h"
#include "harness/stats/notes.h"
#include "harness/stats/power.h"
#include "harness/stats/wording.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

TEST(Holm, steps_down_and_stops_at_the_first_kept) {
  const auto rows = holm({0.01, 0.04, 0.03, 0.005}, 0.05);
  EXPECT_TRUE(rows[3].rejected);
  EXPECT_DOUBLE_EQ(rows[3].alpha, 0.05 / 4);
  EXPECT_TRUE(rows[0].rejected);
  EXPECT_DOUBLE_EQ(rows[0].alpha, 0.05 / 3);
  EXPECT_FALSE(rows[2].rejected);  // 0.03 > 0.05 / 2
  EXPECT_DOUBLE_EQ(rows[2].alpha, 0.05 / 2);
  EXPECT_FALSE(rows[1].rejected);  // 0.04 < 0.05 alone, but testing has stopped
  EXPECT_DOUBLE_EQ(rows[1].alpha, 0.05 / 2);
}

TEST(Holm, unusable_members_count_in_the_family) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto rows = holm({0.02, -1, nan}, 0.05);
  EXPECT_FALSE(rows[0].rejected);  // 0.02 > 0.05 / 3
  EXPECT_FALSE(rows[1].rejected);
  EXPECT_FALSE(rows[2].rejected);
  EXPECT_TRUE(holm({}, 0.05).empty());
  EXPECT_TRUE(holm({0.05}, 0.05)[0].rejected);
}

TEST(Looks, share_the_error_equally) {
  synthetic::Spec spec;
  spec.passes = 1;
  record::RunRecord run = synthetic::make_run(spec);
  EXPECT_EQ(look_plan(run).looks, (std::vector<int>{6, 12}));
  EXPECT_NEAR(look_plan(run).look_alpha, 0.025, 1e-15);
  run.plan.looks = {18, 6, 12, 12};
  EXPECT_EQ(look_plan(run).looks, (std::vector<int>{6, 12, 18}));
  run.plan.looks.clear();
  run.manifest.protocol.looks.clear();
  run.manifest.success.confidence = 7;
  EXPECT_EQ(look_plan(run).looks, (std::vector<int>{1}));
  EXPECT_NEAR(look_plan(run).look_alpha, 0.05, 1e-15);
}

// The design's table of passes: effect in pass-sd, power 80 / 90 %. It was made with the noncentral
// t; the sum of two central quantiles differs from it by at most one pass.
TEST(Power, reproduces_the_table_of_passes) {
  const struct {
    double effect;
    int at80, at90;
  } difference[] = {{0.3, 90, 119}, {0.5, 34, 44}, {0.75, 16, 21}, {1, 10, 13}, {1.5, 6, 7}};
  for (const auto& row : difference) {
    EXPECT_NEAR(passes_for_difference(row.effect, 1, 0.05, 0.8), row.at80, 1) << row.effect;
    EXPECT_NEAR(passes_for_difference(row.effect, 1, 0.05, 0.9), row.at90, 1) << row.effect;
  }
  const struct {
    double margin;
    int at80, at90;
  } equivalence[] = {{0.5, 36, 46}, {0.75, 17, 21}, {1, 11, 13}, {1.5, 6, 7}};
  for (const auto& row : equivalence) {
    EXPECT_NEAR(passes_for_equivalence(row.margin, 1, 0.05, 0.8), row.at80, 1) << row.margin;
    EXPECT_NEAR(passes_for_equivalence(row.margin, 1, 0.05, 0.9), row.at90, 1) << row.margin;
  }
}

TEST(Power, says_unknown_where_nothing_helps) {
  EXPECT_EQ(passes_for_difference(0, 1, 0.05), -1);
  EXPECT_EQ(passes_for_equivalence(-0.1, 1, 0.05), -1);
  EXPECT_EQ(passes_for_difference(1e-9, 1, 0.05), -1);
  EXPECT_DOUBLE_EQ(detectable_difference(1, 1, 0.05), -1);
  EXPECT_EQ(passes_for_difference(100, 1, 0.05), kFewestPasses);
}

TEST(Wording, digits_follow_the_interval) {
  EXPECT_EQ(percent(-0.03217, 0.012), "-3.2 %");
  EXPECT_EQ(percent(-0.03217, 0.12), "-3 %");
  EXPECT_EQ(percent(0.0321749, 0.00012), "+3.217 %");
  EXPECT_EQ(percent(-0.00001, 0.01), "0.0 %");
  EXPECT_EQ(interval_text({-0.031, -0.011, 0.975}), "-3.1 % to -1.1 %");
  EXPECT_EQ(interval_text({}), "not estimable");
  EXPECT_EQ(level_text(0.975), "97.5 %");
  EXPECT_EQ(level_text(1 - 0.05 / 3), "98.33 %");
}

TEST(Notes, codes_are_unique_ordered_and_explained) {
  ASSERT_FALSE(note_table().empty());
  std::string_view last;
  for (const record::NoteEntry& entry : note_table()) {
    EXPECT_LT(last, entry.code);
    EXPECT_GT(entry.explanation.size(), 30U) << entry.code;
    last = entry.code;
  }
  EXPECT_EQ(find_note("N999"), nullptr);
  EXPECT_EQ(make_note("N008", "w", "t").severity, record::Severity::kInvalid);
}

}  // namespace
}  // namespace abba::stats
