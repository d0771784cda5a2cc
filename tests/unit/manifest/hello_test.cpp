// What only a worker can answer, and the table of both arms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/manifest/diff.h"
#include "tests/unit/manifest/example.h"

namespace abba::manifest::testing {
namespace {

record::WorkerHello hello() {
  record::WorkerHello hello;
  hello.name = "demo";
  hello.factors = {{"loop", {{"old", "bitwise", ""}, {"new", "bitwise", "old"}}, "old", false},
                   {"pad", {{"no", "bitwise", ""}, {"yes", "bitwise", "no"}}, "no", true}};
  hello.boundaries = {{"request"}, {"inner", "ns", "steady_clock", "request"}};
  hello.metrics = {{"bytes", "B", record::Direction::kLowerIsBetter}};
  hello.stages = {"sum"};
  return hello;
}

TEST(Hello, AcceptsWhatExists) {
  const record::Manifest manifest = parsed(
      with(kNineLines, R"("id": "w1",)", R"("id": "w1", "boundaries": ["request", "inner"],)"));
  EXPECT_TRUE(check_against_hello(manifest, hello()).empty());
}

TEST(Hello, NamesWhatDoesNotExist) {
  std::string source = with(kNineLines, R"("loop": "new")", R"("loop": "nev")");
  source = with(source, R"("id": "w1",)", R"("id": "w1", "boundaries": ["requst"],)");
  source = with(source, R"({"claim": "faster"})", R"({"claim": "faster", "metric": "byte"})");
  source = with(source, R"("id": "nine")",
                R"("id": "nine", "outputs": {"rule": "limits", "limits": {"sun": {"nrms": 0}}})");
  const auto mistakes = check_against_hello(parsed(source), hello());
  std::vector<std::string> found;
  for (const Mistake& mistake : mistakes) found.push_back(text(mistake));
  EXPECT_THAT(found, ::testing::UnorderedElementsAre(
                         ::testing::AllOf(::testing::HasSubstr("/arms/B/factors/loop"),
                                          ::testing::HasSubstr("\"new\" (nearest)")),
                         ::testing::AllOf(::testing::HasSubstr("/workloads/0/boundaries/0"),
                                          ::testing::HasSubstr("\"request\" (nearest)")),
                         ::testing::AllOf(::testing::HasSubstr("/success/metric"),
                                          ::testing::HasSubstr("\"bytes\" (nearest)")),
                         ::testing::AllOf(::testing::HasSubstr("/outputs/limits/sun"),
                                          ::testing::HasSubstr("\"sum\" (nearest)"))));
}

TEST(Hello, UnknownFactor) {
  record::WorkerHello other = hello();
  other.factors.erase(other.factors.begin());
  const auto mistakes = check_against_hello(parsed(kNineLines), other);
  ASSERT_EQ(mistakes.size(), 2U);  // both arms state it
  EXPECT_EQ(mistakes[0].pointer, "/arms/A/factors/loop");
  EXPECT_EQ(mistakes[1].pointer, "/arms/B/factors/loop");
}

TEST(Hello, SharedProcessNeedsAHotFactor) {
  const record::Manifest manifest =
      parsed(with(kNineLines, R"({"preset": "standard"})",
                  R"({"preset": "standard", "placement": "shared-process"})"));
  const auto mistakes = check_against_hello(manifest, hello());
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_EQ(mistakes[0].pointer, "/protocol/placement");
}

TEST(Diff, ShowsDefaultsAndMarksTheOneDifference) {
  const record::Manifest manifest =
      parsed(with(kNineLines, R"("id": "nine")", R"("id": "nine", "settings": {"threads": 1})"));
  const record::WorkerHello offered = hello();
  const auto rows = diff(manifest, &offered, &offered);
  std::vector<std::string> differing;
  for (const DiffRow& row : rows) {
    if (row.differs()) differing.push_back(row.name);
  }
  EXPECT_THAT(differing, ::testing::ElementsAre("label", "factor loop"));
  const std::string shown = table(rows);
  EXPECT_THAT(shown, ::testing::HasSubstr("* factor loop"));
  EXPECT_THAT(shown, ::testing::HasSubstr("  factor pad"));
  EXPECT_THAT(shown, ::testing::HasSubstr("setting threads"));
}

TEST(Diff, BuildFlagsOfTwoWorkersAreCompared) {
  record::WorkerHello a = hello();
  record::WorkerHello b = hello();
  a.facts = base::Json::object({{"compiler flags", "-O2"}});
  b.facts = base::Json::object({{"compiler flags", "-O3"}});
  const auto rows = diff(parsed(kNineLines), &a, &b);
  EXPECT_THAT(table(rows), ::testing::HasSubstr("* worker compiler flags"));
}

}  // namespace
}  // namespace abba::manifest::testing
