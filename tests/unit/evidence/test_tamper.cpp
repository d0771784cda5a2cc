// The tamper matrix: every kind of edit of a run file and of a bundle, as it is, with every digest
// recomputed, and with the ledger's word about the head. What an author edits and recomputes is
// caught if, and only if, its digest stood somewhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/verify.h"
#include "harness/manifest/ledger.h"
#include "harness/stats/analyze.h"
#include "harness/store/archive.h"
#include "harness/store/database.h"
#include "harness/store/run_file.h"
#include "harness/store/xz.h"
#include "tests/unit/evidence/tamper_table.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

using base::Json;
using store::ArchiveEntry;
using Entries = std::vector<ArchiveEntry>;

constexpr char kConsistent[] = "internally consistent, not anchored";
constexpr char kProgram[] = "abba of this test";
constexpr char kOtherEffect[] = "\"effect\": 0.5, \"was\": ";

class Tamper : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.analyze = [](const record::RunRecord& run) { return stats::analyze(run); };
    options_.program = kProgram;
    head_ = testing::write_valid(path_, run_);
    good_ = base::read_file(path_);
    std::filesystem::create_directory(ledger_);
    manifest::append_event(
        ledger_, record::LedgerEventKind::kRunFinished, run_.registration.lock_digest,
        Json::object({{"head_digest", Json(head_)},
                      {"run_file", Json("results/tamper/" + run_.run_id + ".sqlite")}}),
        1'795'963'800);
  }

  void expect(testing::TamperTable& table, const std::string& what, const std::string& how,
              const std::string& path, const std::string& wanted) {
    const std::string sentence = verify(path, options_).sentence;
    table.add(what, how, sentence);
    const std::string prefix = wanted.empty() ? kConsistent : "does not check out: " + wanted;
    EXPECT_TRUE(sentence.starts_with(prefix))
        << what << ", " << how << ": " << sentence << "\nwanted " << prefix;
  }

  void edit(const std::string& sql) const {
    store::Database database(path_, store::Database::Mode::kWrite);
    database.execute(sql);
  }

  TemporaryFolder folder_;
  record::RunRecord run_ = testing::valid_run();
  std::string path_ = folder_.file(run_.run_id + ".sqlite");
  std::string ledger_ = folder_.file("ledger");
  std::string good_;
  std::string head_;
  VerifyOptions options_;
};

// How verify ends: of the file as edited, with the chain recomputed, and that beside a ledger that
// somebody else kept. "" = it checks out.
struct Edit {
  const char* what;
  const char* sql;
  const char* edited;
  const char* recomputed;
  bool verdicts_too = false;
};

constexpr Edit kEdits[] = {
    {"nothing (the canary)", "", "", ""},
    {"a sample", "UPDATE sample SET duration_ns = duration_ns - 9 WHERE slot = 2011 AND seq = 3",
     "chain: ", "verdicts: "},
    {"a sample, verdicts recomputed",
     "UPDATE sample SET duration_ns = duration_ns / 2 WHERE slot IN (SELECT id FROM slot WHERE arm "
     "= 'B')",
     "chain: ", "", true},
    {"a sample dropped", "DELETE FROM sample WHERE slot = 2011 AND seq = 3", "chain: ", "counts: "},
    {"a sample marked as failed", "UPDATE sample SET status = 1 WHERE slot = 2011 AND seq = 3",
     "chain: ", "counts: "},
    {"a sample marked as warm-up", "UPDATE sample SET warmup = 1 WHERE slot = 2011 AND seq = 3",
     "chain: ", "counts: "},
    {"a block dropped",
     "DELETE FROM sample WHERE slot / 10 = 302; DELETE FROM value WHERE slot / 10 = 302;"
     "DELETE FROM span WHERE slot / 10 = 302; DELETE FROM environment WHERE slot / 10 = 302;"
     "DELETE FROM slot WHERE block = 302; DELETE FROM block WHERE id = 302",
     "chain: ", "counts: "},
    {"a block called tainted", "UPDATE block SET taint = 'cpu-load' WHERE id = 302",
     "chain: ", "verdicts: "},
    {"arms swapped", "UPDATE slot SET arm = CASE arm WHEN 'A' THEN 'B' ELSE 'A' END",
     "chain: ", "counts: "},
    {"arms and order swapped, verdicts recomputed",
     "UPDATE slot SET arm = CASE arm WHEN 'A' THEN 'B' ELSE 'A' END; UPDATE block SET slot_order = "
     "replace(replace(replace(slot_order, 'A', 'x'), 'B', 'A'), 'x', 'B')",
     "chain: ", "counts: ", true},
    {"a pass called superseded", "UPDATE pass SET superseded = 1 WHERE id = 3",
     "changes: ", "changes: "},
    {"a verdict's word", "UPDATE verdict SET word = 'improved' WHERE ordinal = 0",
     "chain: ", "verdicts: "},
    {"a verdict's number in the cache",
     "UPDATE document SET text = replace(text, '\"pass_sd\":', '\"pass_sd\":1') WHERE name = "
     "'analysis'",
     "chain: ", "verdicts: "},
    {"a note's text", "UPDATE note SET text = 'all is well' WHERE id = 5", "chain: ", ""},
    {"a note dropped", "DELETE FROM note WHERE id = 5", "chain: ", ""},
    {"a reading of the environment", "UPDATE environment SET value = 1 WHERE id = 3",
     "chain: ", ""},
    {"a binding", "UPDATE binding SET value = 'another' WHERE id = 1", "chain: ", ""},
    {"the manifest",
     "UPDATE document SET text = replace(text, 'takes less', 'takes more') WHERE name LIKE "
     "'manifest%'",
     "chain: ", "manifest: "},
    {"the lock",
     "UPDATE document SET text = replace(text, '\"looks\":[2]', '\"looks\":[1,2]') WHERE name IN "
     "('lock', 'registration', 'plan')",
     "chain: ", "lock: "},
    {"the start of the run", "UPDATE run SET started_utc = '2031-01-01T00:00:00Z'", "chain: ", ""},
    {"the end of the run", "UPDATE run SET finished_utc = '2031-01-01T00:00:00Z'",
     "changes: ", "changes: "},
    {"an output's digest dropped", "DELETE FROM output_check WHERE arm = 'B' AND input = 'w2'",
     "chain: ", "outputs: "},
    {"a graph capture invented",
     "INSERT INTO graph_capture (entry, worker, arm, workload, shape, capture_ns) VALUES "
     "(2, 1, 'B', 'w1', '[2]', 5)",
     "chain: ", "captures: "},
    {"a private string", "UPDATE private SET text = 'another machine' WHERE key = 'host'",
     "private: ", "private: "},
    {"a private string's salt dropped", "UPDATE private SET salt = NULL WHERE key = 'host'",
     "private: ", "private: "},
    {"a commitment", "UPDATE private SET commitment = '00' WHERE key = 'host'",
     "chain: ", "private: "},
    {"a view removed", "DROP VIEW v_pass", "file: ", "file: "},
    {"a view replaced", "DROP VIEW v_pass; CREATE VIEW v_pass AS SELECT 1", "file: ", "file: "},
    {"a trigger added", "CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM sample; END",
     "file: ", "file: "},
    {"a newer layout named", "PRAGMA user_version = 9", "file: ", "file: "},
};

TEST_F(Tamper, OfARunFileEndsAsWritten) {
  testing::TamperTable table("run file");
  for (const Edit& row : kEdits) {
    options_.ledger_folder.clear();
    base::write_file_atomically(path_, good_);
    edit(row.sql);
    expect(table, row.what, "edited", path_, row.edited);
    if (row.verdicts_too) {
      testing::recompute_verdicts(path_);
    }
    testing::recompute_chain(path_);
    expect(table, row.what, "chain recomputed", path_, row.recomputed);
    options_.ledger_folder = ledger_;
    const bool same = row.sql[0] == '\0';
    expect(table, row.what, "and the head known", path_,
           same || row.recomputed[0] != '\0' ? row.recomputed : "ledger: event");
  }
  EXPECT_GE(table.size(), 85U);
}

TEST_F(Tamper, ACommitDroppedIsSeen) {
  edit("DELETE FROM chain WHERE seq = (SELECT entry FROM block WHERE id = 301)");
  EXPECT_EQ(verify(path_, options_).ending, Ending::kBroken);
}

// --- bundles -----------------------------------------------------------------------------------

void replace_in(std::string& bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
}

ArchiveEntry& entry(Entries& entries, const std::string& name) {
  for (ArchiveEntry& item : entries) {
    if (item.name == name || (name == "ledger/" && item.name.starts_with(name))) return item;
  }
  throw base::Error(base::ErrorCode::kBadInput, name, "no such entry");
}

class TamperBundle : public Tamper {
 protected:
  void SetUp() override {
    Tamper::SetUp();
    bytes_ = make_bundle(path_, {.ledger_folder = ledger_, .facts = {kProgram, 2, ""}});
    entries_ = store::read_archive(bytes_, "bundle");
  }
  std::string written(const std::string& bytes) const {
    base::write_file_atomically(folder_.file("b.zip"), bytes);
    return folder_.file("b.zip");
  }
  // The run inside edited by SQL, its chain recomputed.
  void edit_run(Entries& entries, const std::string& sql) const {
    ArchiveEntry& run = entry(entries, "run.sqlite.xz");
    const std::string plain = folder_.file("inner.sqlite");
    base::write_file_atomically(plain, store::xz_decompress(run.bytes, "run", 1U << 30U));
    store::Database(plain, store::Database::Mode::kWrite).execute(sql);
    testing::recompute_chain(plain);
    run.bytes = store::xz_compress(base::read_file(plain));
  }
  std::string bytes_;
  Entries entries_;
};

struct BundleEdit {
  std::string what;
  std::function<void(Entries&)> change;
  std::string recomputed;  // the ending once the index is recomputed
};

TEST_F(TamperBundle, EntriesEndAsWritten) {
  const auto text = [](const char* name, const std::string& from, const std::string& to) {
    return [=](Entries& entries) { replace_in(entry(entries, name).bytes, from, to); };
  };
  const std::vector<BundleEdit> edits = {
      {"manifest.json", text("manifest.json", "takes less", "takes more"), "manifest.json: "},
      {"lock.json", text("lock.json", "manifest_digest", "manifest_digset"), "lock.json: "},
      {"commands.txt", text("commands.txt", "abba run", "abba lie"), "commands.txt: "},
      {"a number of report.md", text("report.md", "w1", "w3"), "report.md: "},
      {"the drawing", text("samples.svg", "<svg", "<svG"), "samples.svg: "},
      {"an effect of report.json", text("report.json", "\"effect\": ", kOtherEffect),
       "report.json: its verdicts"},
      {"recompute.py", text("recompute.py", "1e-9", "1e+9"), "recompute.py: "},
      {"an event of the ledger", text("ledger/", "run-finished", "run-started"), "ledger: "},
      {"the head in an event", text("ledger/", head_, std::string(64, '0')), "ledger: "},
      {"the run's samples",
       [&](Entries& entries) {
         edit_run(entries, "UPDATE sample SET duration_ns = duration_ns - 9 WHERE slot = 2011");
       },
       "verdicts: "},
      {"the run's note, chain recomputed",
       [&](Entries& entries) { edit_run(entries, "UPDATE note SET text = 'fine' WHERE id = 5"); },
       "ledger: event"},
      {"a redacted string invented",
       [&](Entries& entries) {
         edit_run(entries, "UPDATE private SET text = 'me', salt = '00' WHERE key = 'host'");
       },
       "private: "},
      {"a commitment removed",
       [&](Entries& entries) { edit_run(entries, "DELETE FROM private WHERE key = 'host'"); },
       "ledger: event"},
      {"an entry added",
       [](Entries& entries) {
         entries.push_back({"extra.txt", "x"});
       },
       "entries: "},
      {"something beside the events",
       [](Entries& entries) {
         entries.push_back({"ledger/a.jsoA", "x"});
       },
       "bundle: ledger/a.jsoA is no event"},
      {"report.json removed",
       [](Entries& entries) {
         std::erase_if(entries, [](const auto& item) { return item.name == "report.json"; });
       },
       "bundle: it holds no report.json"},
      {"the run removed",
       [](Entries& entries) {
         std::erase_if(entries, [](const auto& item) { return item.name == "run.sqlite.xz"; });
       },
       "bundle: it holds no run.sqlite.xz"},
  };
  testing::TamperTable table("bundle");
  expect(table, "nothing (the canary)", "edited", written(bytes_), "");
  for (const BundleEdit& row : edits) {
    Entries entries = entries_;
    row.change(entries);
    const VerifyResult edited = verify(written(store::write_archive(entries)), options_);
    table.add(row.what, "edited", edited.sentence);
    EXPECT_EQ(edited.ending, Ending::kBroken) << row.what;
    testing::recompute_index(entries);
    expect(table, row.what, "index recomputed", written(store::write_archive(entries)),
           row.recomputed);
  }
}

TEST_F(TamperBundle, TheIndexAndTheArchiveItselfEndAsWritten) {
  testing::TamperTable table("bundle's index and archive");
  for (const auto& [from, to, wanted] :
       {std::tuple("\"withheld\": [", "\"withheld\": [{}, ", "bundle.json: its withheld"),
        {"\"attempts_before\": 2", "\"attempts_before\": 0", "report.md: "},
        {"abba.bundle/1", "abba.bundle/9", "index: "},
        {"\"sha256\": \"", "\"sha256\": \"0", "index: manifest.json is not the one listed"},
        {"\"files\": [", "\"files\": 1, \"fil\": [", "bundle: "},
        {"{", "[", "bundle: "}}) {
    Entries entries = entries_;
    replace_in(entry(entries, "bundle.json").bytes, from, to);
    expect(table, from, "edited", written(store::write_archive(entries)), wanted);
  }
  expect(table, "bytes behind the end", "edited", written(bytes_ + "x"), "bundle: ");
  expect(table, "cut", "edited", written(bytes_.substr(0, bytes_.size() - 9)), "bundle: ");
  std::string flipped = bytes_;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  expect(table, "one bit", "edited", written(flipped), "bundle: ");
}

// Everything anew, from the samples to the index and the ledger inside: only who kept the ledger
// or an anchor sees it.
TEST_F(TamperBundle, EverythingRecomputedIsCaughtOnlyByWhatStoodElsewhere) {
  edit("UPDATE note SET text = 'fine' WHERE id = 5");
  testing::recompute_chain(path_);
  const std::string forged = folder_.file("forged.zip");
  base::write_file_atomically(forged, make_bundle(path_, {.facts = {.program = kProgram}}));
  EXPECT_EQ(verify(forged, options_).sentence, kConsistent);
  options_.ledger_folder = ledger_;
  EXPECT_TRUE(verify(forged, options_).sentence.starts_with("does not check out: ledger: event"));
}

TEST_F(TamperBundle, AnchorsHoldForABundleAsForItsRun) {
  options_.anchors = {
      {"a file kept by someone", "2026-11-29T14:00:00Z", run_.registration.lock_digest}};
  EXPECT_EQ(verify(written(bytes_), options_).sentence,
            "anchored before the first slot by a file kept by someone");
}

// Another build may word its report otherwise; its numbers are compared all the same.
TEST_F(TamperBundle, OfAnotherBuildOnlyWordsMayDiffer) {
  options_.program = "abba of tomorrow";
  EXPECT_EQ(verify(written(bytes_), options_).sentence, kConsistent);
  Entries entries = entries_;
  replace_in(entry(entries, "report.md").bytes, "# ", "# Otherwise ");
  testing::recompute_index(entries);
  const VerifyResult other = verify(written(store::write_archive(entries)), options_);
  EXPECT_EQ(other.sentence, kConsistent);
  replace_in(entry(entries, "report.json").bytes, "\"effect\": ", kOtherEffect);
  testing::recompute_index(entries);
  EXPECT_TRUE(verify(written(store::write_archive(entries)), options_)
                  .sentence.starts_with("does not check out: report.json: its verdicts"));
}

}  // namespace
}  // namespace abba::evidence
