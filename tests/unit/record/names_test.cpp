// Every enumerator has one name, names differ, and a name finds its enumerator again.
#include "harness/record/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace abba::record {
namespace {

template <typename Enum>
class Names : public ::testing::Test {};

using Enums = ::testing::Types<Preset, WorkerReuse, Order, Arrival, Placement, Load, OnTaint, Claim,
                               Direction, OutputsRule, Reads, Phase, LedgerEventKind, RunState,
                               Severity, Word>;
TYPED_TEST_SUITE(Names, Enums);

TYPED_TEST(Names, AreDistinctAndFindTheirWayBack) {
  std::set<std::string> seen;
  int count = 0;
  for (; !name(static_cast<TypeParam>(count)).empty(); ++count) {
    const std::string_view text = name(static_cast<TypeParam>(count));
    EXPECT_TRUE(seen.insert(std::string(text)).second) << text;
    EXPECT_EQ(parse_name<TypeParam>(text), static_cast<TypeParam>(count));
  }
  EXPECT_GE(count, 2);
  EXPECT_FALSE(parse_name<TypeParam>("no such name").has_value());
  EXPECT_FALSE(parse_name<TypeParam>("").has_value());
}

// The last enumerator of each: a forgotten name would leave it empty.
TEST(LastNames, AreThere) {
  EXPECT_EQ(name(Preset::kQuick), "quick");
  EXPECT_EQ(name(Order::kInterleaved), "interleaved");
  EXPECT_EQ(name(Placement::kSharedProcess), "shared-process");
  EXPECT_EQ(name(OnTaint::kAbort), "abort");
  EXPECT_EQ(name(Claim::kDisjointPassMeans), "disjoint-pass-means");
  EXPECT_EQ(name(OutputsRule::kLimits), "limits");
  EXPECT_EQ(name(Reads::kLines), "lines");
  EXPECT_EQ(name(Phase::kTrace), "trace");
  EXPECT_EQ(name(LedgerEventKind::kWithdrawn), "withdrawn");
  EXPECT_EQ(name(RunState::kBroken), "broken");
  EXPECT_EQ(name(Severity::kInvalid), "invalid");
  EXPECT_EQ(name(Word::kDisjointNotMet), "disjoint-pass-means not met");
}

TEST(Defaults, AreTheStandardPlan) {
  const Protocol protocol;
  EXPECT_EQ(protocol.passes, 12);
  EXPECT_EQ(protocol.blocks, 4);
  EXPECT_EQ(protocol.order, Order::kAbbaBaab);
  EXPECT_EQ(protocol.slot.max_ms, 2000);
  EXPECT_FALSE(Reference{}.present());
  EXPECT_TRUE(Registration{}.exploratory());
  EXPECT_FALSE(Interval{}.estimable());
}

TEST(ManifestArm, IsFoundById) {
  Manifest manifest;
  manifest.a.label = "first";
  manifest.b.label = "second";
  EXPECT_EQ(manifest.arm("A").label, "first");
  EXPECT_EQ(manifest.arm("B").label, "second");
}

}  // namespace
}  // namespace abba::record
