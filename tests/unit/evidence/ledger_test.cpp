// What the ledger says of a run's end, for runs that were interrupted.
#include "harness/manifest/ledger.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/evidence/check_record.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

// The outcome for a run of two heads, where an event of `state` names the first of them only.
Outcome outcome_after(const std::string& state, int resumed) {
  const TemporaryFolder folder;
  manifest::append_event(folder.path(), record::LedgerEventKind::kRunFinished, "the lock",
                         base::Json::object({{"head_digest", "first"},
                                             {"state", base::Json(state)},
                                             {"run_file", "results/x/the-run.sqlite"}}),
                         1'795'963'800);
  record::RunRecord run;
  run.run_id = "the-run";
  run.registration.lock_digest = "the lock";
  run.state = record::RunState::kFinished;
  run.head_digest = "second";
  run.resumed = resumed;
  return check_ledger(run, {"first", "second"}, folder.path()).outcome;
}

// Killed between the last commit and its event, after it had gone on: no event of the end, as if it
// had never been interrupted.
TEST(Ledger, AResumedRunWhoseEndIsMissingIsNotAsked) {
  EXPECT_EQ(outcome_after("stopped", 1), Outcome::kNotDone);
  EXPECT_EQ(outcome_after("broken", 2), Outcome::kNotDone);
}

TEST(Ledger, NothingFollowsAnEnd) {
  EXPECT_EQ(outcome_after("finished", 1), Outcome::kFails);
  EXPECT_EQ(outcome_after("stopped", 0), Outcome::kFails);
}

}  // namespace
}  // namespace abba::evidence
