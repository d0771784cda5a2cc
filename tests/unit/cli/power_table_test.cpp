// What `abba power` says of noise that is known, without a run or a file.
#include "harness/cli/power_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/cli/options.h"
#include "harness/stats/power.h"

namespace abba::cli {
namespace {

calibration::WorkloadNoise one_per_cent() {
  calibration::WorkloadNoise noise;
  noise.workload = "w";
  noise.manifests = {"aa_one", "aa_two"};
  noise.boundary = "request";
  noise.blocks = 4;
  noise.runs = 3;
  noise.passes = 36;
  noise.pass_sd = 0.01;
  return noise;
}

TEST(PlannedPasses, are_those_of_the_manifest_and_its_primary_family) {
  record::Manifest manifest;
  manifest.workloads.resize(3);
  manifest.protocol.passes = 20;
  manifest.protocol.looks = {10, 20};
  manifest.success.harm_limit = 0.02;
  manifest.success.confidence = 0.9;
  PlannedPasses planned = planned_passes(manifest);
  EXPECT_EQ(planned.passes, 20);
  EXPECT_EQ(planned.workloads, 3) << "without a primary one all are";
  EXPECT_NEAR(planned.look_alpha(), 0.05, 1e-12);
  EXPECT_NEAR(planned.alpha(), 0.05 / 3, 1e-12);
  manifest.success.primary = {"w"};
  manifest.protocol.looks.clear();
  planned = planned_passes(manifest);
  EXPECT_EQ(planned.workloads, 1);
  EXPECT_EQ(planned.looks, 1);
  EXPECT_EQ(planned.harm_limit, 0.02);
}

TEST(PowerTable, gives_what_the_planned_passes_find) {
  const PlannedPasses plan;  // standard: 12 passes, 2 looks, one workload
  const base::Json json = PowerTable(plan, 0).json(one_per_cent());
  for (const auto& [at, power] : {std::pair("80", 0.8), std::pair("90", 0.9)}) {
    EXPECT_NEAR(json.at("detectable").at(std::string("difference_") + at).as_double(),
                std::expm1(stats::detectable_difference(12, 0.01, 0.025, power)), 1e-12);
    EXPECT_NEAR(json.at("detectable").at(std::string("equivalence_") + at).as_double(),
                std::expm1(stats::detectable_margin(12, 0.01, 0.025, power)), 1e-12);
  }
  EXPECT_EQ(json.at("passes_needed").as_array().size(), 5U);
  EXPECT_EQ(json.at("manifests").as_array().at(1).as_string(), "aa_two");
  EXPECT_TRUE(json.at("best_blocks").is_null()) << "costs are not known";
  EXPECT_NE(PowerTable(plan, 0).text(one_per_cent()).find("aa_one, aa_two"), std::string::npos);
}

TEST(PowerTable, one_pass_sd_takes_the_passes_of_the_design) {
  PlannedPasses plan;
  plan.looks = 1;
  const base::Json json = PowerTable(plan, std::expm1(0.01)).json(one_per_cent());
  ASSERT_EQ(json.at("passes_needed").as_array().size(), 1U);
  const base::Json& row = json.at("passes_needed").as_array()[0];
  EXPECT_NEAR(static_cast<double>(row.at("difference_80").as_int()), 10, 1);
  EXPECT_NEAR(static_cast<double>(row.at("difference_90").as_int()), 13, 1);
  EXPECT_NEAR(static_cast<double>(row.at("equivalence_80").as_int()), 11, 1);
  EXPECT_NEAR(static_cast<double>(row.at("equivalence_90").as_int()), 13, 1);
}

TEST(PowerTable, more_workloads_need_a_larger_difference_and_the_same_margin) {
  PlannedPasses alone;
  PlannedPasses family;
  family.workloads = 5;
  const base::Json one = PowerTable(alone, 0).json(one_per_cent()).at("detectable");
  const base::Json five = PowerTable(family, 0).json(one_per_cent()).at("detectable");
  EXPECT_GT(five.at("difference_80").as_double(), one.at("difference_80").as_double());
  EXPECT_EQ(five.at("equivalence_80").as_double(), one.at("equivalence_80").as_double());
}

TEST(PowerTable, a_harm_limit_out_of_reach_is_said_with_the_passes_it_takes) {
  PlannedPasses plan;
  plan.harm_limit = 0.005;
  const std::string text = PowerTable(plan, 0).text(one_per_cent());
  EXPECT_NE(text.find("this plan cannot show equivalence within 0.50 %; needs "), std::string::npos)
      << text;
  plan.harm_limit = 0.05;
  EXPECT_EQ(PowerTable(plan, 0).text(one_per_cent()).find("cannot show"), std::string::npos);
}

TEST(PowerTable, what_no_number_of_passes_shows_is_null_and_said) {
  const PowerTable table(PlannedPasses{}, 1e-6);
  EXPECT_TRUE(
      table.json(one_per_cent()).at("passes_needed").as_array()[0].at("difference_80").is_null());
  EXPECT_NE(table.text(one_per_cent()).find("> 10000"), std::string::npos);
}

TEST(PowerTable, without_a_run_the_unit_is_the_pass_sd) {
  const std::string text = PowerTable(PlannedPasses{}, 0).in_units_of_noise();
  EXPECT_NE(text.find("12 passes find a difference of "), std::string::npos);
  EXPECT_NE(text.find("10 / 13 and 11 / 13"), std::string::npos);
}

TEST(PowerOptions, effects_and_classes_are_read) {
  const char* words[] = {"abba", "power", "--effect", "1.5", "--class", "nvidia-h200", "--json"};
  const Parsed parsed = parse_options(7, words);
  EXPECT_EQ(parsed.exit_code, -1) << parsed.text;
  EXPECT_EQ(parsed.options.effect_percent, 1.5);
  EXPECT_EQ(parsed.options.machine_class, "nvidia-h200");
  EXPECT_EQ(parsed.options.manifest, "");
  for (const char* effect : {"-1", "0", "much", "nan"}) {
    const char* wrong[] = {"abba", "power", "--effect", effect};
    EXPECT_EQ(parse_options(4, wrong).exit_code, 2) << effect;
  }
}

}  // namespace
}  // namespace abba::cli
