// What verify cannot read or recompute is never passed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "harness/evidence/verify.h"
#include "harness/stats/analyze.h"
#include "harness/store/database.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

using ::testing::HasSubstr;
using testing::recompute_chain;
using ::testing::StartsWith;

// Else a forger would only have to name a version that this abba cannot recompute.
TEST(Unread, VerdictsThatNameAnotherVersionThanTheirRun) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  testing::write_valid(path, testing::valid_run());
  VerifyOptions options;
  options.analyze = [](const record::RunRecord& run) { return stats::analyze(run); };
  ASSERT_NE(verify(path, options).ending, Ending::kBroken);
  for (const char* version : {"abba.analysis/1", "abba.analysis/99", ""}) {
    {
      store::Database database(path, store::Database::Mode::kWrite);
      database.execute(std::string("UPDATE document SET text = json_set(text, '$.version', '") +
                       version + "') WHERE name = 'analysis'");
    }
    recompute_chain(path);
    const VerifyResult result = verify(path, options);
    EXPECT_EQ(result.ending, Ending::kBroken) << version;
    EXPECT_THAT(result.sentence,
                StartsWith("does not check out: verdicts: those stored name analysis version "));
  }
}

// Nobody ever writes into the pipe: to open it would be to wait for ever.
TEST(Unread, APipeIsNotWaitedFor) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const VerifyResult result = verify(folder.file("pipe"), {});
  EXPECT_EQ(result.ending, Ending::kBroken);
  EXPECT_THAT(result.sentence, HasSubstr("no regular file"));
}

}  // namespace
}  // namespace abba::evidence
