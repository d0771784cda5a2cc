// The suite accepts the two examples, and each rule catches the one worker that breaks it.
#include "harness/workers/conformance.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/unit/workers/subjects.h"

namespace abba::workers {
namespace {

ConformanceOptions quick() {
  ConformanceOptions options;
  options.timeout_s = 10;
  return options;
}

class Conforming : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Conforming, PassesEveryRule) {
  for (const ConformanceRow& row : conformance(GetParam(), quick())) {
    EXPECT_TRUE(row.passed || row.skipped) << row.rule << ": " << row.detail;
    EXPECT_FALSE(row.skipped) << row.rule << ": " << row.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Conforming,
                         testing::Values(saxpy_cpp(), saxpy_python(), broken_python("nothing")));

class Rule : public testing::TestWithParam<std::string> {};

TEST_P(Rule, IsTheOneThatCatchesItsBreaker) {
  ConformanceOptions options = quick();
  if (GetParam() == "end-of-input-ends") options.timeout_s = 4;
  const std::vector<ConformanceRow> rows = conformance(broken_python(GetParam()), options);
  EXPECT_FALSE(conforms(rows));
  for (const ConformanceRow& row : rows) {
    EXPECT_EQ(row.passed, row.rule != GetParam()) << row.rule << ": " << row.detail;
    EXPECT_TRUE(row.passed || !row.detail.empty()) << "a failure says what was seen";
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Rule,
                         testing::Values("hello-valid", "describe-equals-hello",
                                         "unknown-message-refused", "garbage-survived",
                                         "load-effective", "unknown-level-refused",
                                         "unknown-workload-refused", "digest-repeatable",
                                         "shutdown-exits-zero", "end-of-input-ends"));

// Rules whose breach also shows in others, since those need the same answer.
class SharedRule : public testing::TestWithParam<std::string> {};

TEST_P(SharedRule, CatchesItsBreaker) {
  bool caught = false;
  for (const ConformanceRow& row : conformance(broken_python(GetParam()), quick())) {
    caught |= row.rule == GetParam() && !row.passed && !row.skipped;
  }
  EXPECT_TRUE(caught);
}

INSTANTIATE_TEST_SUITE_P(Each, SharedRule,
                         testing::Values("prepare-ready", "slot-id-echoed", "samples-consistent",
                                         "spans-nested", "outputs-answered"));

TEST(Conformance, NeedsSomethingToStart) {
  EXPECT_THROW(conformance({"/no/such/worker"}), base::Error);
}

}  // namespace
}  // namespace abba::workers
