// The tamper matrix: a good run checks out, and every edit is named where it was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/evidence/check_record.h"
#include "harness/evidence/verify.h"
#include "harness/manifest/ledger.h"
#include "harness/manifest/lock.h"
#include "harness/manifest/parse.h"
#include "harness/record/names.h"
#include "harness/run/notes.h"
#include "harness/stats/analyze.h"
#include "harness/store/chain.h"
#include "harness/store/database.h"
#include "harness/store/record_json.h"
#include "harness/store/redact.h"
#include "harness/store/run_file.h"
#include "harness/store/xz.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

using store::Database;
using ::testing::HasSubstr;
using testing::recompute_chain;
using ::testing::StartsWith;
using testing::texts_of_valid;
using testing::valid_run;
using testing::write_valid;

class Verify : public ::testing::Test {
 protected:
  void SetUp() override {
    head_ = write_valid(path_, run_);
    options_.analyze = [](const record::RunRecord& run) { return stats::analyze(run); };
  }

  void edit(const std::string& sql) const {
    Database database(path_, Database::Mode::kWrite);
    database.execute(sql);
  }

  // The ledger as a run leaves it.
  void write_ledger() {
    options_.ledger_folder = folder_.file("ledger");
    std::filesystem::create_directory(options_.ledger_folder);
    manifest::append_event(
        options_.ledger_folder, record::LedgerEventKind::kRunFinished,
        run_.registration.lock_digest,
        base::Json::object({{"head_digest", base::Json(head_)}, {"run_file", base::Json(path_)}}),
        1'795'963'800);
  }

  [[nodiscard]] VerifyResult checked() const { return verify(path_, options_); }
  [[nodiscard]] std::string failing() const {
    const VerifyResult result = checked();
    for (const Check& check : result.checks) {
      if (check.outcome == Outcome::kFails) {
        EXPECT_EQ(result.ending, Ending::kBroken);
        EXPECT_THAT(result.sentence, StartsWith("does not check out: " + check.name));
        return check.name + ": " + check.detail;
      }
    }
    EXPECT_NE(result.ending, Ending::kBroken);
    return "";
  }

  TemporaryFolder folder_;
  record::RunRecord run_ = valid_run();
  std::string path_ = folder_.file(run_.run_id + ".sqlite");
  std::string head_;
  VerifyOptions options_;
};

TEST_F(Verify, AGoodRunChecksOutInEveryPoint) {
  write_ledger();
  const VerifyResult result = checked();
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.outcome, Outcome::kHolds) << check.name << ": " << check.detail;
  }
  EXPECT_EQ(result.checks.size(), 11U);
  EXPECT_EQ(result.sentence, "internally consistent, not anchored");
  EXPECT_EQ(result.head_digest, head_);
}

TEST_F(Verify, AnAnchorCountsOnlyIfItStoodBeforeAndHoldsThisRegistration) {
  Anchor anchor{"a file kept by someone", "2026-11-29T14:00:00Z", run_.registration.lock_digest};
  options_.anchors = {anchor};
  EXPECT_EQ(checked().sentence, "anchored before the first slot by a file kept by someone");
  anchor.utc = run_.started_utc;
  options_.anchors = {anchor};
  EXPECT_EQ(checked().ending, Ending::kConsistent);
  anchor = {"a file kept by someone", "2026-11-29T14:00:00Z", std::string(64, 'a')};
  options_.anchors = {anchor};
  EXPECT_EQ(checked().ending, Ending::kConsistent);
}

TEST_F(Verify, OneSampleEdited) {
  edit("UPDATE sample SET duration_ns = duration_ns - 1 WHERE slot = 2011 AND seq = 3");
  EXPECT_THAT(failing(), StartsWith("chain: "));
  EXPECT_THAT(failing(), HasSubstr("block 201 (measured pass 1, workload w1)"));
}

TEST_F(Verify, ABlockDeleted) {
  edit(
      "DELETE FROM sample WHERE slot / 10 = 302; DELETE FROM value WHERE slot / 10 = 302;"
      "DELETE FROM span WHERE slot / 10 = 302; DELETE FROM slot WHERE block = 302;"
      "DELETE FROM block WHERE id = 302");
  EXPECT_THAT(failing(), StartsWith("chain: "));
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("counts: measured pass 2: block 2 of 4"));
}

TEST_F(Verify, ARequestDeletedAndTheChainRecomputed) {
  edit("DELETE FROM sample WHERE slot = 2011 AND seq = 3");
  recompute_chain(path_);
  EXPECT_THAT(failing(), HasSubstr("slot 2011: request 3 is missing"));
}

// A program that prints its own samples is bound to its warm-ups, and to one request at least.
TEST(Counts, OfAProgramThatPrintsItsOwnAreNotTheBoundOnes) {
  record::RunRecord run = valid_run();
  EXPECT_EQ(check_counts(run), "");
  run.counts = {{"w1", 2, 4}, {"w2", 2, 4}};
  EXPECT_THAT(check_counts(run), HasSubstr("bound were 2 and 4"));
  run.manifest.a.reads = run.manifest.b.reads = record::Reads::kNvbench;
  EXPECT_EQ(check_counts(run), "");
  run.counts = {{"w1", 3, 4}, {"w2", 2, 4}};
  EXPECT_THAT(check_counts(run), HasSubstr("bound were 3 and 4"));
  run.counts = {{"w1", 2, 4}, {"w2", 2, 4}};
  for (record::Pass& pass : run.passes) {
    for (record::Block& block : pass.blocks) {
      record::Slot& slot = block.slots[0];
      slot.samples.resize(2);  // the warm-ups
      for (record::Sample& sample : slot.samples) sample.status = record::SampleStatus::kOk;
      slot.failures = 0;
    }
  }
  EXPECT_THAT(check_counts(run), HasSubstr("2 warm-ups and 0 requests"));
}

TEST(Outputs, AreNotExpectedOfAProgram) {
  record::RunRecord run = valid_run();
  EXPECT_EQ(check_outputs(run), "");
  run.output_checks.clear();
  EXPECT_THAT(check_outputs(run), HasSubstr("no output digest of arm A"));
  run.manifest.b.reads = record::Reads::kWall;
  EXPECT_EQ(check_outputs(run), "");
}

// A run whose plan ends with a graph-capture pass that both arms answered on both workloads.
record::RunRecord capturing_run() {
  record::RunRecord run = valid_run();
  record::PlannedPass planned;
  planned.phase = record::Phase::kGraphCapture;
  planned.start_order = "AB";
  planned.blocks = {{"w1", "AB", false}, {"w2", "AB", false}};
  run.plan.passes.push_back(planned);
  record::Pass pass;
  pass.id = 9000;
  pass.phase = planned.phase;
  pass.start_ns = 1;
  pass.end_ns = 2;
  run.passes.push_back(pass);
  std::int64_t id = pass.id;
  for (const char* arm : {"A", "B"}) {
    record::WorkerProcess worker;
    worker.id = ++id;
    worker.arm = arm;
    worker.pass = record::kLaterPass;
    run.workers.push_back(worker);
    for (const char* workload : {"w1", "w2"}) {
      run.graph_captures.push_back({id, arm, workload, {.shape = "[2]", .capture_ns = 7}});
    }
  }
  return run;
}

TEST(Captures, AreThoseOfThePlan) {
  const record::RunRecord good = capturing_run();
  EXPECT_EQ(check_captures(good), "");
  EXPECT_EQ(check_counts(good), "");
  EXPECT_EQ(check_captures(valid_run()), "");

  record::RunRecord run = good;
  run.plan.passes.back().start_order = "B";
  EXPECT_THAT(check_captures(run), HasSubstr("arm A on workload w1 was not planned"));
  run = good;
  run.plan.passes.back().blocks.pop_back();
  EXPECT_THAT(check_captures(run), HasSubstr("arm A on workload w2 was not planned"));
  run = good;
  run.plan.passes.pop_back();
  EXPECT_THAT(check_captures(run), HasSubstr("was not planned"));
  EXPECT_THAT(check_counts(run), HasSubstr("graph_capture pass 1 was not planned"));
  run = good;
  run.graph_captures.push_back(run.graph_captures.back());
  EXPECT_THAT(check_captures(run), HasSubstr("holds a shape twice"));
}

TEST(Captures, ComeFromWorkersOfTheirOwn) {
  record::RunRecord run = capturing_run();
  run.graph_captures[0].worker = 9002;  // of arm B
  EXPECT_THAT(check_captures(run), HasSubstr("not started for it"));
  run = capturing_run();
  run.workers.back().pass = 1;
  EXPECT_THAT(check_captures(run), HasSubstr("not started for it"));
  run = capturing_run();
  run.workers.pop_back();
  EXPECT_THAT(check_captures(run), HasSubstr("not started for it"));
  run = capturing_run();
  run.passes[1].blocks[0].slots[0].worker = 9001;
  EXPECT_THAT(check_captures(run), HasSubstr("requests were timed in"));
  run = capturing_run();
  run.passes.back().blocks.push_back(run.passes[1].blocks[0]);
  EXPECT_THAT(check_counts(run), HasSubstr("nothing is timed in it"));
}

TEST(Captures, AreNotMissingWithoutANoteThatSaysWhy) {
  record::RunRecord run = capturing_run();
  run.graph_captures.pop_back();
  EXPECT_THAT(check_captures(run), HasSubstr("arm B on workload w2 is missing"));
  for (const std::string_view code : {run::kLaterPassUnable, run::kLaterPassFailed}) {
    record::RunRecord noted = run;
    noted.notes.push_back({std::string(code), record::Severity::kInfo, "w2, arm B", ""});
    EXPECT_EQ(check_captures(noted), "");
    noted.notes.back().where = "graph_capture pass 1, arm B";
    EXPECT_EQ(check_captures(noted), "");
    for (const char* where : {"w2, arm A", "w1, arm B", "trace pass 1, arm B", ""}) {
      noted.notes.back().where = where;
      EXPECT_THAT(check_captures(noted), HasSubstr("is missing")) << where;
    }
  }
  run.passes.back().superseded = true;  // interrupted
  EXPECT_EQ(check_captures(run), "");
}

TEST_F(Verify, ACommitDeleted) {
  edit("DELETE FROM chain WHERE seq = (SELECT entry FROM block WHERE id = 301)");
  EXPECT_THAT(failing(), ::testing::AnyOf(HasSubstr("chain: commit"), StartsWith("file: ")));
}

TEST_F(Verify, ThePassNobodyWantedMarkedSuperseded) {
  edit("UPDATE pass SET superseded = 1, why = 'noise' WHERE id = 3");
  EXPECT_THAT(failing(), StartsWith("changes: pass.superseded of row 3"));
}

TEST_F(Verify, TheVerdictEdited) {
  edit(
      "UPDATE document SET text = replace(text, 'disjoint-pass-means', 'disjoint-pass-medians') "
      "WHERE name = 'analysis'; UPDATE verdict SET word = 'improved'");
  EXPECT_THAT(failing(), StartsWith("chain: "));
}

TEST_F(Verify, TheVerdictEditedAndTheChainRecomputed) {
  Database(path_, Database::Mode::kWrite)
      .execute(
          "UPDATE document SET text = replace(text, '\"pass_sd\":', '\"pass_sd\":1') WHERE name "
          "= 'analysis'");
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("verdicts: the stored verdict on workload w1"));
  options_.analyze = nullptr;
  EXPECT_EQ(failing(), "");  // nothing at hand that could see it, and that is said
}

TEST_F(Verify, TheTableOfVerdictsEditedAndTheChainRecomputed) {
  edit("UPDATE verdict SET word = 'improved'");
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("verdicts: "));
}

TEST_F(Verify, TheManifestEditedAndTheChainRecomputed) {
  edit(
      "UPDATE document SET text = replace(text, 'takes less', 'takes more') WHERE name LIKE "
      "'manifest%'");
  EXPECT_THAT(failing(), StartsWith("chain: "));
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("manifest: the manifest has digest"));
}

TEST_F(Verify, OneFormOfTheManifestEditedAndTheChainRecomputed) {
  edit(
      "UPDATE document SET text = replace(text, 'takes less', 'takes more') WHERE name = "
      "'manifest_text'");
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("manifest: the manifest as written is not"));
}

TEST_F(Verify, ThePlanOrTheLockEditedAndTheChainRecomputed) {
  edit(
      "UPDATE document SET text = replace(text, '\"looks\":[2]', '\"looks\":[1,2]') WHERE name = "
      "'plan'");
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("lock: the lock froze another plan"));
  edit(
      "UPDATE document SET text = replace(text, '\"looks\":[2]', '\"looks\":[1,2]') WHERE name IN "
      "('lock', 'registration')");
  recompute_chain(path_);
  EXPECT_THAT(failing(), StartsWith("lock: the lock has digest"));
}

TEST_F(Verify, AnOutputDigestRemovedAndTheChainRecomputed) {
  edit("DELETE FROM output_check WHERE arm = 'B' AND input = 'w2'");
  recompute_chain(path_);
  EXPECT_EQ(failing(), "outputs: no output digest of arm B on workload w2");
}

TEST_F(Verify, ANoteChanged) {
  edit("UPDATE note SET text = 'nothing to see'  WHERE id = 5");
  EXPECT_THAT(failing(), StartsWith("chain: "));
}

TEST_F(Verify, ARowThatNoCommitBrought) {
  edit(
      "PRAGMA foreign_keys = OFF; INSERT INTO note (entry, code, severity, place, text) VALUES "
      "(0, 'N000', 'info', '', 'all is well')");
  EXPECT_THAT(failing(),
              ::testing::AnyOf(StartsWith("coverage: 1 rows of table note"), StartsWith("file: ")));
}

TEST_F(Verify, TheFileCutOrAByteFlipped) {
  const std::string good = base::read_file(path_);
  base::write_file_atomically(path_, good.substr(0, good.size() - 5000));
  EXPECT_THAT(failing(), StartsWith("file: "));
  // A byte of a stored text: SQLite cannot see it, the chain does.
  std::string flipped = good;
  const std::size_t at = good.find(run_.output_checks[3].digest);
  ASSERT_NE(at, std::string::npos);
  flipped[at + 5] = flipped[at + 5] == 'a' ? 'b' : 'a';
  base::write_file_atomically(path_, flipped);
  EXPECT_THAT(failing(), StartsWith("chain: "));
}

TEST_F(Verify, RedactedStillChecksOutAndAFalsePrivateStringDoesNot) {
  const std::string copy = folder_.file("redacted.sqlite");
  store::write_redacted(path_, copy);
  const VerifyResult result = verify(copy, options_);
  EXPECT_EQ(result.ending, Ending::kConsistent) << result.sentence;
  EXPECT_EQ(result.head_digest, head_);
  edit("UPDATE private SET text = 'another machine'");
  EXPECT_THAT(failing(), StartsWith("private: "));
}

TEST_F(Verify, ACompressedRunChecksOutInPlace) {
  write_ledger();
  const std::string out = path_ + ".xz";
  store::compress_run(path_, out);
  const VerifyResult result = verify(out, options_);
  EXPECT_EQ(result.ending, Ending::kConsistent) << result.sentence;
  EXPECT_EQ(result.checks.back().outcome, Outcome::kHolds) << result.checks.back().detail;
}

// The limit of a file by itself, and what catches it: samples made faster, verdicts and every
// digest recomputed.
TEST_F(Verify, EverythingRecomputedIsCaughtByTheLedgerAlone) {
  edit(
      "UPDATE sample SET duration_ns = duration_ns / 2 WHERE slot IN (SELECT id FROM slot WHERE "
      "arm = 'B')");
  testing::recompute_verdicts(path_);
  recompute_chain(path_);
  EXPECT_EQ(checked().sentence, "internally consistent, not anchored");
  write_ledger();
  EXPECT_THAT(failing(), StartsWith("ledger: event"));
  EXPECT_THAT(failing(), HasSubstr("the run was changed afterwards"));
}

TEST_F(Verify, AnInterruptedRunChecksOutAsFarAsItGoes) {
  const std::string path = folder_.file("stopped.sqlite");
  record::RunRecord start = run_;
  start.notes.resize(1);
  {
    store::RunFile file = store::RunFile::create(path, start, texts_of_valid(run_));
    file.commit_facts("counts", {.counts = run_.counts, .output_checks = run_.output_checks});
    testing::commit_pass(file, run_, run_.passes[0]);
    file.begin_pass(run_.passes[1]);
    file.commit_block(2, run_.passes[1].blocks[0], {}, {});
  }
  const VerifyResult result = verify(path, options_);
  EXPECT_EQ(result.ending, Ending::kConsistent) << result.sentence;
}

TEST(VerifyFile, WhatIsNoRunFileDoesNotCheckOut) {
  const VerifyResult result = verify("/no/such/file");
  EXPECT_EQ(result.ending, Ending::kBroken);
  EXPECT_THAT(result.sentence, StartsWith("does not check out: file: there is no such file"));
}

}  // namespace
}  // namespace abba::evidence
