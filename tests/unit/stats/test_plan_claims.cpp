// What a plan allows a run to say, before anything is measured.
#include <gtest/gtest.h>

#include "harness/stats/plan_claims.h"

namespace abba::stats {
namespace {

record::Manifest manifest_with(record::Preset preset) {
  record::Manifest manifest;
  manifest.protocol.preset = preset;
  manifest.success.harm_limit = 0.02;
  return manifest;
}

TEST(PlanClaims, each_preset_has_its_words) {
  const auto two_pass = plan_claims(manifest_with(record::Preset::kTwoPass));
  EXPECT_EQ(two_pass.may_say.rfind("disjoint-pass-means", 0), 0U);
  EXPECT_NE(two_pass.cannot_say.find("no verdict word"), std::string::npos);
  const auto standard = plan_claims(manifest_with(record::Preset::kStandard));
  EXPECT_EQ(standard.may_say,
            "improved, regressed, equivalent (within 2.00 %), inconclusive, invalid");
  EXPECT_EQ(standard.cannot_say, "");
  EXPECT_NE(standard.error_rate.find("5 %"), std::string::npos);
  const auto quick = plan_claims(manifest_with(record::Preset::kQuick));
  EXPECT_EQ(quick.may_say, "faster, slower, no difference seen");
}

TEST(PlanClaims, without_a_harm_limit_nothing_is_equivalent) {
  auto manifest = manifest_with(record::Preset::kStandard);
  manifest.success.harm_limit.reset();
  const auto claims = plan_claims(manifest);
  EXPECT_EQ(claims.may_say.find("equivalent"), std::string::npos);
  EXPECT_NE(claims.cannot_say.find("harm_limit"), std::string::npos);
}

TEST(PlanClaims, fewer_than_six_passes_say_nothing) {
  auto manifest = manifest_with(record::Preset::kStandard);
  manifest.protocol.passes = 5;
  EXPECT_EQ(plan_claims(manifest).may_say, "invalid");
}

}  // namespace
}  // namespace abba::stats
