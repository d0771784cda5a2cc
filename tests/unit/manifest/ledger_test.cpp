// The ledger only grows, notices damage, and counts; attempts are counted too.
#include "harness/manifest/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/manifest/attempts.h"
#include "harness/manifest/registrations.h"
#include "tests/unit/manifest/example.h"
#include "tests/unit/temporary_folder.h"

namespace abba::manifest::testing {
namespace {

using record::LedgerEventKind;
using ::testing::HasSubstr;

const std::string kLock(64, 'a');
constexpr std::int64_t kNow = 1'795'964'851;

class Ledger : public ::testing::Test {
 protected:
  record::LedgerEvent add(LedgerEventKind kind, std::int64_t now = kNow) {
    return append_event(folder_.path(), kind, kLock, base::Json::object({{"manifest", "m"}}), now);
  }
  LedgerReading read() { return read_ledger(folder_.path()); }
  TemporaryFolder folder_;
};

TEST_F(Ledger, EventsFormAChain) {
  const auto first = add(LedgerEventKind::kRegistered);
  EXPECT_EQ(first.file, "20261129T150731Z-aaaaaaaa-registered.json");
  EXPECT_TRUE(first.parents.empty());
  const auto second = add(LedgerEventKind::kRunStarted, kNow - 50);  // a clock that went back
  EXPECT_THAT(second.parents, ::testing::ElementsAre(first.digest));
  const LedgerReading reading = read();
  ASSERT_EQ(reading.events.size(), 2U);
  EXPECT_EQ(reading.events[0].digest, first.digest);  // parents first, whatever the clocks said
  EXPECT_THAT(reading.heads, ::testing::ElementsAre(second.digest));
  EXPECT_TRUE(reading.problems.empty());
}

TEST_F(Ledger, EventsOfOneSecondDoNotReplaceEachOther) {
  for (int i = 0; i < 3; ++i) add(LedgerEventKind::kRunStarted);
  EXPECT_EQ(read().events.size(), 3U);
  EXPECT_EQ(count_events(read(), LedgerEventKind::kRunStarted, kLock), 3);
  EXPECT_EQ(count_events(read(), LedgerEventKind::kRunStarted, std::string(64, 'b')), 0);
}

TEST_F(Ledger, DamageIsReported) {
  const auto first = add(LedgerEventKind::kRegistered);
  const auto second = add(LedgerEventKind::kBound);
  const std::string path = (folder_.path() / second.file).string();
  const std::string bytes = base::read_file(path);
  folder_.write(second.file, with(bytes, "\"bound\"", "\"run-started\""));
  EXPECT_THAT(read().problems, ::testing::ElementsAre(HasSubstr("was changed")));
  folder_.write(second.file, bytes.substr(0, 20));
  EXPECT_EQ(read().problems.size(), 1U);
  folder_.write(second.file, bytes);
  std::filesystem::remove(folder_.path() / first.file);
  EXPECT_THAT(read().problems, ::testing::ElementsAre(HasSubstr("which is missing")));
  EXPECT_THAT(graph(read()), HasSubstr("! " + second.file));
}

TEST_F(Ledger, ALostEventIsAcknowledgedWithAReasonAndStaysNamed) {
  const auto first = add(LedgerEventKind::kRegistered);
  const auto second = add(LedgerEventKind::kBound);
  const std::filesystem::path file = folder_.path() / first.file;
  const std::string bytes = base::read_file(file.string());
  std::filesystem::remove(file);
  ASSERT_EQ(read().missing.size(), 1U);
  EXPECT_EQ(read().missing[0].digest, first.digest);
  const auto acknowledge = [&](const std::string& digest, const std::string& reason) {
    acknowledge_loss(folder_.path(), digest, read().missing, reason, kNow);
  };
  EXPECT_THROW(acknowledge(first.digest, " "), base::Error);
  EXPECT_THROW(acknowledge(first.digest.substr(0, 7), "x"), base::Error);
  EXPECT_THROW(acknowledge(second.digest, "x"), base::Error);  // is there
  acknowledge(first.digest.substr(0, 8), "a disk died");
  EXPECT_NO_THROW(require_sound(read()));
  EXPECT_TRUE(read().acknowledges(first.digest));
  EXPECT_FALSE(read().holds(first.digest));
  EXPECT_THAT(graph(read()), HasSubstr("- event " + first.digest.substr(0, 8) +
                                       " is lost, acknowledged 2026-11-29T15:07:31Z: a disk died"));
  folder_.write(first.file, bytes);  // found again
  EXPECT_TRUE(read().losses.empty());
  EXPECT_NO_THROW(require_sound(read()));
}

TEST_F(Ledger, ACopiedOrRenamedEventIsReported) {
  const auto first = add(LedgerEventKind::kRegistered);
  const std::string bytes = base::read_file((folder_.path() / first.file).string());
  const std::string copy = std::string(first.file).replace(0, 4, "2027");
  folder_.write(copy, bytes);
  EXPECT_THAT(read().problems, ::testing::Contains(HasSubstr("is the same event as")));
  std::filesystem::remove(folder_.path() / first.file);
  EXPECT_THAT(read().problems, ::testing::ElementsAre(HasSubstr("is written as")));
  EXPECT_THROW(require_sound(read()), base::Error);
}

TEST_F(Ledger, ALedgerThatDoesNotKnowALockSaysSo) {
  EXPECT_THROW(require_registered(read(), kLock), base::Error);
  add(LedgerEventKind::kRegistered);
  EXPECT_NO_THROW(require_registered(read(), kLock));
  EXPECT_NO_THROW(require_sound(read()));
}

TEST_F(Ledger, RegistrationsAreToldOneByOne) {
  const auto event = [&](LedgerEventKind kind, const std::string& lock, base::Json details) {
    append_event(folder_.path(), kind, lock, details, kNow);
  };
  const std::string other(64, 'b');
  event(LedgerEventKind::kRegistered, kLock,
        base::Json::object({{"manifest", "m"}, {"file", "manifests/m.json"}}));
  event(LedgerEventKind::kRunStarted, kLock, base::Json::object());
  event(LedgerEventKind::kRunStarted, kLock, base::Json::object({{"resumed", true}}));
  event(LedgerEventKind::kRunFinished, kLock, base::Json::object({{"state", "stopped"}}));
  event(
      LedgerEventKind::kRegistered, other,
      base::Json::object({{"manifest", "m"}, {"file", "manifests/m.json"}, {"supersedes", kLock}}));
  withdraw(folder_.path(), other, "a typing error", kNow);
  event(LedgerEventKind::kRegistered, std::string(64, 'c'),
        base::Json::object({{"manifest", "n"}, {"file", "n.json"}}));
  const auto all = registrations(read());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(text(all[0]),
            "registration aaaaaaaa of manifests/m.json, 2026-11-29T15:07:31Z: 1 run (0 finished, 1 "
            "stopped, 0 broken); superseded by bbbbbbbb");
  EXPECT_THAT(text(all[1]), ::testing::EndsWith("0 runs; withdrawn: a typing error"));
  record::Manifest manifest;
  manifest.id = "n";
  manifest.path = "/p/x/n.json";
  const auto of_n = registrations_of(read(), manifest, {"/p", true, {}});
  ASSERT_EQ(of_n.size(), 1U);
  EXPECT_EQ(only_about(read(), of_n).events.size(), 1U);
}

TEST_F(Ledger, RunsAreLimited) {
  add(LedgerEventKind::kRegistered);
  EXPECT_NO_THROW(require_run_allowed(read(), kLock, 1));
  add(LedgerEventKind::kRunStarted);
  EXPECT_NO_THROW(require_run_allowed(read(), kLock, 0));
  try {
    require_run_allowed(read(), kLock, 1);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), HasSubstr("max_runs"));
  }
}

// Losing an event must not unmake a run.
TEST_F(Ledger, ALostEventThatMayHaveBeenARunCountsAsOne) {
  const auto lose = [&](const record::LedgerEvent& event, const std::string& kind) {
    std::filesystem::remove(folder_.path() / event.file);
    acknowledge_loss(folder_.path(), event.digest, {{event.digest, kind}}, "a disk died", kNow);
  };
  const auto older = append_event(folder_.path(), LedgerEventKind::kRunStarted,
                                  std::string(64, 'b'), base::Json::object(), kNow);
  add(LedgerEventKind::kRegistered);
  add(LedgerEventKind::kRunStarted);
  const auto bound = add(LedgerEventKind::kBound);
  const auto second = add(LedgerEventKind::kRunStarted);
  EXPECT_NO_THROW(require_run_allowed(read(), kLock, 3));
  lose(bound, "bound");  // a run file knows what it was
  lose(older, "");       // came before the registration, so it was no run of it
  EXPECT_EQ(lost_runs(read(), kLock), 0);
  EXPECT_NO_THROW(require_run_allowed(read(), kLock, 3));
  EXPECT_EQ(lost_runs(read(), std::string(64, 'b')), 1);  // whose registration is not there
  lose(second, "run-started");
  EXPECT_EQ(count_events(read(), LedgerEventKind::kRunStarted, kLock), 1);
  EXPECT_EQ(lost_runs(read(), kLock), 1);
  EXPECT_NO_THROW(require_run_allowed(read(), kLock, 3));
  const auto third = add(LedgerEventKind::kRunFinished);
  lose(third, "");  // nobody knows what it was
  try {
    require_run_allowed(read(), kLock, 3);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), HasSubstr("1 started already, with 2 more in lost events"));
  }
  // A registration after the losses builds on all that acknowledges them.
  append_event(folder_.path(), LedgerEventKind::kRegistered, std::string(64, 'c'),
               base::Json::object(), kNow);
  EXPECT_EQ(lost_runs(read(), std::string(64, 'c')), 0);
}

TEST_F(Ledger, WithdrawalIsFinalAndNeedsAReason) {
  add(LedgerEventKind::kRegistered);
  EXPECT_THROW(withdraw(folder_.path(), kLock, "  ", kNow), base::Error);
  EXPECT_THROW(withdraw(folder_.path(), "bbbbbbbb", "why", kNow), base::Error);
  EXPECT_THROW(withdraw(folder_.path(), "aaa", "why", kNow), base::Error);
  withdraw(folder_.path(), "aaaaaaaa", "wrong fixture", kNow);
  EXPECT_EQ(withdrawn_reason(read(), kLock), "wrong fixture");
  EXPECT_THROW(require_run_allowed(read(), kLock, 0), base::Error);
}

TEST_F(Ledger, AnAbsentFolderIsEmpty) {
  const LedgerReading reading = read_ledger(folder_.path() / "none");
  EXPECT_TRUE(reading.events.empty());
  EXPECT_TRUE(reading.problems.empty());
}

TEST(Attempts, AreCountedByKindAndManifest) {
  const TemporaryFolder folder;
  const auto file = folder.path() / ".abba/attempts";
  EXPECT_EQ(count_attempts(file, "m").total(), 0);
  append_attempt(file, {AttemptKind::kTried, "t", "m", "d", "quick look\nwith a newline"});
  append_attempt(file, {AttemptKind::kFailed, "t", "m", "d", ""});
  append_attempt(file, {AttemptKind::kAborted, "t", "m", "e", ""});
  append_attempt(file, {AttemptKind::kExploratory, "t", "other", "d", ""});
  const AttemptCounts counts = count_attempts(file, "m");
  EXPECT_EQ(counts.tried, 1);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(counts.aborted, 1);
  EXPECT_EQ(counts.exploratory, 0);
  EXPECT_EQ(count_attempts(file, "").total(), 4);
  const std::string before = base::read_file(file.string());
  folder.write(".abba/attempts", before + "{\"half");
  EXPECT_EQ(count_attempts(file, "m").unreadable, 1);
  EXPECT_EQ(count_attempts(file, "m").total(), 3);
}

}  // namespace
}  // namespace abba::manifest::testing
