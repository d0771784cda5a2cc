#include <gtest/gtest.h>

#include "harness/run/notes.h"
#include "tests/unit/run/fakes.h"

namespace abba::run {
namespace {

using base::ErrorCode;

void expect_refused(World& world, const std::string& words) {
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);
  EXPECT_NE(result.text.find(words), std::string::npos) << result.text;
  EXPECT_EQ(world.script.slot_letters("w1"), "");
  EXPECT_FALSE(world.sink.output_checks.empty());  // what was found is kept
}

record::Manifest limits_manifest(double nrms) {
  auto manifest = small_manifest();
  manifest.outputs.rule = record::OutputsRule::kLimits;
  manifest.outputs.limits["final"].nrms = nrms;
  return manifest;
}

TEST(Outputs, bitwise_equal_arms_pass_in_every_order) {
  World world;
  EXPECT_FALSE(world.run().error);
  // per input: A repeat, A reversed, B repeat, B reversed, B against A
  EXPECT_EQ(world.sink.output_checks.size(), 2U * 5U);
  for (const auto& check : world.sink.output_checks) {
    EXPECT_TRUE(check.equal && check.within);
  }
}

TEST(Outputs, a_different_b_is_refused_and_located) {
  World world;
  world.script.digest["B"] = "other";
  world.script.values["B"] = {1.5F, -2.0F};
  expect_refused(world, "stage final at [1]: -2 against -2.25");
}

TEST(Outputs, a_result_that_changes_when_asked_again_is_refused) {
  World world;
  world.script.unsteady = true;
  expect_refused(world, "when asked again");
}

TEST(Outputs, limits_accept_what_is_within_and_refuse_the_rest) {
  World within(limits_manifest(0.1));
  within.script.digest["B"] = "other";
  within.script.values["B"] = {1.5F, -2.24F};
  EXPECT_FALSE(within.run().error);

  World beyond(limits_manifest(0.001));
  beyond.script.digest["B"] = "other";
  beyond.script.values["B"] = {1.5F, -2.0F};
  expect_refused(beyond, "B differs from A");
}

TEST(Outputs, a_rule_needs_workers_that_show_outputs) {
  World world;
  world.script.capabilities = {"load"};
  const auto result = world.run();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(*result.error, ErrorCode::kPreflight);

  auto manifest = small_manifest();
  manifest.outputs.rule = record::OutputsRule::kNone;
  World none(manifest);
  none.script.capabilities = {"load"};
  EXPECT_FALSE(none.run().error);
  EXPECT_TRUE(none.has_note(kOutputsNotChecked));
}

record::Manifest reference_manifest() {
  auto manifest = limits_manifest(0.2);
  manifest.outputs.reference.settings = base::Json::object();
  manifest.outputs.reference_limits["final"].nrms = 0.01;
  return manifest;
}

TEST(Outputs, both_arms_failing_the_reference_block_the_parity_claim_only) {
  World world(reference_manifest());
  world.commands["reference"].argv = {"/bin/true"};
  world.script.digest["reference"] = "exact";
  world.script.values["reference"] = {1.0F, -2.25F};
  const auto result = world.run();
  EXPECT_FALSE(result.error) << result.text;
  EXPECT_TRUE(world.has_note(kParityBlocked));
}

TEST(Outputs, only_b_failing_the_reference_is_refused) {
  World world(reference_manifest());
  world.commands["reference"].argv = {"/bin/true"};
  world.script.digest = {{"A", "a"}, {"B", "b"}, {"reference", "exact"}};
  world.script.values["B"] = {1.4F, -2.25F};
  expect_refused(world, "only B fails against the reference");
}

TEST(Outputs, arms_inside_the_reference_limits_pass) {
  World world(reference_manifest());
  world.commands["reference"].argv = {"/bin/true"};
  EXPECT_FALSE(world.run().error);
  EXPECT_FALSE(world.has_note(kParityBlocked));
}

}  // namespace
}  // namespace abba::run
