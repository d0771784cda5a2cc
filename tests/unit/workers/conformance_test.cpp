// The suite accepts the examples, and each rule catches the one worker that breaks it, alone.
#include "harness/workers/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/workers/conformance_rules.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

using testing::HasSubstr;

// What every rule needs to be judged.
class Conformity : public testing::Test {
 protected:
  Conformity() {
    std::ofstream(folder_.file("data")) << "x";
    options_.timeout_s = 20;
    options_.workload_input_json = R"({"n": 3})";
    options_.settings = base::Json::object({{"depth", 2}});
    options_.files = {{"data", folder_.file("data")}};
    options_.require_device = true;
  }
  static std::vector<std::string> breaker(const std::string& rule) {
    return {ABBA_TEST_PYTHON, "-B", ABBA_TEST_BREAKER, rule};
  }
  static const ConformanceRow& row(const ConformanceReport& report, const std::string& rule) {
    return *std::find_if(report.rows.begin(), report.rows.end(),
                         [&](const auto& candidate) { return candidate.rule == rule; });
  }

  TemporaryFolder folder_;
  ConformanceOptions options_;
};

TEST_F(Conformity, AWorkerThatKeepsEveryRuleHasNoOtherRow) {
  const ConformanceReport report = conformance(breaker("nothing"), options_);
  ASSERT_EQ(report.rows.size(), conformance_rules().size());
  for (const ConformanceRow& row : report.rows) {
    EXPECT_EQ(name(row.state), "ok") << row.rule << ": " << row.detail;
  }
}

class Examples : public Conformity, public testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(Examples, BreakNoRule) {
  ConformanceOptions plain;
  plain.timeout_s = 20;
  const ConformanceReport report = conformance(GetParam(), plain);
  EXPECT_EQ(report.missing, "");
  EXPECT_EQ(report.count(Conformance::kBroken), 0);
  for (const ConformanceRow& row : report.rows) {
    EXPECT_TRUE(row.state == Conformance::kOk || !row.detail.empty())
        << row.rule << " was not checked and says no reason";
  }
  EXPECT_EQ(row(report, "missing-file-refused").detail, "no --file was given");
  EXPECT_EQ(name(row(report, "digest-as-defined").state), "ok");
}

INSTANTIATE_TEST_SUITE_P(Kits, Examples, testing::Values(saxpy_cpp(), saxpy_python()));

class Rule : public Conformity, public testing::WithParamInterface<std::string> {};

TEST_P(Rule, IsTheOnlyOneThatItsBreakerBreaks) {
  if (GetParam() == "end-of-input-ends") options_.timeout_s = 4;
  const ConformanceReport report = conformance(breaker(GetParam()), options_);
  for (const ConformanceRow& row : report.rows) {
    EXPECT_EQ(row.state == Conformance::kBroken, row.rule == GetParam())
        << row.rule << ": " << row.detail;
    EXPECT_TRUE(row.state == Conformance::kOk || !row.detail.empty()) << row.rule;
  }
}

std::vector<std::string> all_rules() {
  std::vector<std::string> ids;
  for (const ConformanceRule& rule : conformance_rules()) ids.emplace_back(rule.id);
  return ids;
}
std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, Rule, testing::ValuesIn(all_rules()), test_name);

TEST_F(Conformity, WhatCannotBeTriedIsSaidInsteadOfPassed) {
  options_.workload_input_json.clear();
  const ConformanceReport report = conformance(breaker("no-example"), options_);
  EXPECT_EQ(report.count(Conformance::kBroken), 0);
  EXPECT_THAT(report.missing, HasSubstr("give one with --input JSON"));
  EXPECT_EQ(name(row(report, "samples-counted").state), "not checked");
  EXPECT_THAT(row(report, "samples-counted").detail, HasSubstr("prepare was refused"));
}

TEST_F(Conformity, FilesThatOnlyTheUserKnowsAreAskedFor) {
  ConformanceOptions nothing_given;
  const ConformanceReport report = conformance(breaker("needs-file"), nothing_given);
  EXPECT_EQ(report.count(Conformance::kBroken), 0);
  EXPECT_THAT(report.missing, HasSubstr("give what it needs with --file NAME=PATH"));
  EXPECT_EQ(conformance(breaker("needs-file"), options_).missing, "");
}

TEST_F(Conformity, AFactorMayBeLeftOutOnlyIfItIsRefusedByName) {
  const ConformanceReport report = conformance(breaker("a-factor-left-out"), options_);
  EXPECT_EQ(name(row(report, "default-levels-in-effect").state), "broken");
  EXPECT_THAT(row(report, "default-levels-in-effect").detail, HasSubstr("loop"));
  const ConformanceReport refused = conformance(breaker("a-factor-refused"), options_);
  EXPECT_EQ(name(row(refused, "default-levels-in-effect").state), "ok");
  EXPECT_THAT(row(refused, "default-levels-in-effect").detail, HasSubstr("loop"));
}

TEST_F(Conformity, ABoundaryThatIsNotDeclaredIsTheCallersMistake) {
  options_.boundary = "inner";
  EXPECT_EQ(conformance(breaker("nothing"), options_).count(Conformance::kBroken), 0);
  options_.boundary = "outer";
  try {
    conformance(breaker("nothing"), options_);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("request, inner"));
  }
}

TEST_F(Conformity, NeedsSomethingToStart) {
  EXPECT_THROW(conformance({"/no/such/worker"}), base::Error);
}

TEST(ConformanceRules, StandInTheKitsReadme) {
  const std::string readme = base::read_file(ABBA_TEST_KIT "/README.md");
  std::string written;
  for (const std::string& line : base::split(readme, '\n')) {
    if (line.starts_with("| `")) written += line.substr(3, line.find('`', 3) - 3) + "\n";
  }
  std::string known;
  for (const ConformanceRule& rule : conformance_rules()) {
    known += std::string(rule.id) + "\n";
    EXPECT_THAT(readme,
                HasSubstr("| `" + std::string(rule.id) + "` | " + std::string(rule.demand) + " |"));
  }
  EXPECT_THAT(written, HasSubstr(known));
}

}  // namespace
}  // namespace abba::workers
