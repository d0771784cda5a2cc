#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/prng.h"
#include "engine/base/text.h"
#include "harness/store/database.h"
#include "harness/store/run_file.h"
#include "harness/store/run_list.h"
#include "harness/store/schema.h"
#include "harness/store/xz.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& path) {
  try {
    read_run(path);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find(path), 0U) << error.what();
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "";
}

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    head_ = testing::write_run(path_, testing::random_run(21));
    bytes_ = base::read_file(path_);
  }
  std::string with(const std::string& name, std::string_view bytes) const {
    base::write_file_atomically(folder_.file(name), bytes);
    return folder_.file(name);
  }
  void edit(const std::string& sql) const {
    Database database(path_, Database::Mode::kWrite);
    database.execute(sql);
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("run.sqlite");
  std::string bytes_;
  std::string head_;
};

TEST_F(Hostile, WhatIsNoRunFileIsRefusedInOneSentence) {
  EXPECT_THAT(refusal(folder_.file("absent")), HasSubstr("no such file"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("no regular file"));
  EXPECT_THAT(refusal(with("empty", "")), HasSubstr("empty"));
  EXPECT_THAT(refusal(with("text", "hello, this is a text of some length")), HasSubstr("no run"));
  EXPECT_THAT(refusal(with("cut", bytes_.substr(0, bytes_.size() / 2))), HasSubstr("damaged"));
  EXPECT_NE(refusal(with("head", bytes_.substr(0, 50))), "");
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder_.file("pipe")), HasSubstr("no regular file"));
}

TEST_F(Hostile, AnotherProgramsDatabaseAndANewerLayoutAreRefused) {
  edit("PRAGMA user_version = 7");
  EXPECT_THAT(refusal(path_), HasSubstr("newer abba"));
  edit("PRAGMA user_version = 1; PRAGMA application_id = 5");
  EXPECT_THAT(refusal(path_), HasSubstr("another program"));
}

TEST_F(Hostile, AForeignSchemaIsRefused) {
  edit("DROP VIEW v_pass; CREATE VIEW v_pass AS SELECT 1");
  EXPECT_THAT(refusal(path_), HasSubstr("not those of a run file"));
}

// What SQLite itself would run when the file is read: each is refused before it runs.
TEST_F(Hostile, TriggersVirtualTablesAndIndexesOfExpressionsAreRefused) {
  for (const char* sql :
       {"CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM sample; END",
        "CREATE VIRTUAL TABLE v USING fts5(x)", "CREATE INDEX i ON note (length(text))",
        "CREATE VIEW sample_too AS SELECT * FROM sample",
        "CREATE TABLE other (a CHECK (a > randomblob(9)))"}) {
    base::write_file_atomically(path_, bytes_);
    edit(sql);
    EXPECT_THAT(refusal(path_), HasSubstr("not those of a run file")) << sql;
    const std::string compressed = xz_compress(base::read_file(path_));
    EXPECT_THAT(refusal(with("hostile.sqlite.xz", compressed)), HasSubstr("not those of a run"));
  }
}

// A published file of the first layout with its view replaced: the migration, which drops that
// view, must not hide it.
TEST_F(Hostile, AForeignViewInAnOlderLayoutIsRefused) {
  const std::string published = ABBA_RESULTS "/quickstart/20261129T171303Z-82a87f31.sqlite.xz";
  base::write_file_atomically(path_,
                              xz_decompress(base::read_file(published), published, 1U << 30U));
  EXPECT_EQ(refusal(path_), "");
  edit("DROP VIEW v_verdict_input; CREATE VIEW v_verdict_input AS SELECT 1 AS pass_value");
  EXPECT_THAT(refusal(path_), HasSubstr("not those of a run file of layout 1"));
  edit("DROP VIEW v_verdict_input");
  EXPECT_THAT(refusal(path_), HasSubstr("not those of a run file of layout 1"));
  edit("PRAGMA user_version = -3");
  EXPECT_THAT(refusal(path_), HasSubstr("layout -3, which does not exist"));
}

TEST_F(Hostile, StatementsOverAnUntrustedFileAreLimited) {
  for (const bool from_bytes : {false, true}) {
    Database database = from_bytes ? Database::from_bytes(path_, bytes_, false)
                                   : Database(path_, Database::Mode::kRead);
    EXPECT_THROW(database.execute("SELECT load_extension('x')"), base::Error);
    EXPECT_THROW(database.execute("ATTACH ':memory:' AS a; ATTACH ':memory:' AS b"), base::Error);
    EXPECT_THROW(database.execute("SELECT " + std::string(2 << 20U, ' ') + "1"), base::Error);
    EXPECT_THROW(database.execute("SELECT zeroblob(300 << 20)"), base::Error);
    EXPECT_THROW(database.execute("UPDATE sqlite_schema SET sql = ''"), base::Error);
    EXPECT_THROW(database.execute("DELETE FROM sample"), base::Error);
  }
}

TEST_F(Hostile, WrongWordsAndDanglingRowsAreRefused) {
  edit("UPDATE run SET state = 'glorious'");
  EXPECT_THAT(refusal(path_), HasSubstr("glorious"));
  edit("UPDATE run SET state = 'finished'; DELETE FROM slot WHERE id = (SELECT min(id) FROM slot)");
  EXPECT_THAT(refusal(path_), HasSubstr("is not there"));
}

// Each is read or refused in one sentence; manifest_fields must be refused.
TEST_F(Hostile, DocumentsOfAnotherShapeAreReadOrRefused) {
  Database database(path_, Database::Mode::kRead);
  std::vector<std::string> names;
  Statement rows = database.prepare("SELECT DISTINCT name FROM document");
  while (rows.step()) names.push_back(rows.text(0));
  ASSERT_GT(names.size(), 5U);
  for (const std::string& name : names) {
    for (const char* text : {"[]", "null", "1", "\"x\"", "{}", "[{}]", "1e999"}) {
      const std::string copy = with("shape.sqlite", bytes_);
      {
        Database other(copy, Database::Mode::kWrite);
        Statement change = other.prepare("UPDATE document SET text = ? WHERE name = ?");
        change.bind(0, std::string_view(text));
        change.bind(1, std::string_view(name));
        change.step();
      }
      const std::string said = refusal(copy);  // an abort would end the test here
      EXPECT_THAT(said, ::testing::Not(HasSubstr("exception"))) << name << " " << text;
      if (name == "manifest_fields" && std::string_view(text) != "{}") {
        EXPECT_NE(said, "") << text;  // members may lack: older files have fewer
      }
    }
  }
}

TEST_F(Hostile, AValueThatAnErrorNamesIsCutShort) {
  edit("UPDATE document SET text = json_set(text, '$.protocol.load', '" +
       std::string(100'000, 'x') + "') WHERE name = 'manifest_fields'");
  const std::string said = refusal(path_);
  EXPECT_THAT(said, HasSubstr("unknown value"));
  EXPECT_LT(said.size(), 200U);
}

// Whatever bytes change, reading ends with a record or one sentence.
TEST_F(Hostile, RandomDamageNeverDoesMore) {
  base::Random random(3);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = bytes_;
    for (int flips = 0; flips < 8; ++flips) {
      bytes[random.below(i < 20 ? 4096 : bytes.size())] = static_cast<char>(random.next_u64());
    }
    refused += refusal(with("flipped", bytes)).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 20);  // the canary: damage is seen at all
}

TEST_F(Hostile, CompressedFilesAreReadInPlace) {
  const std::string out = folder_.file("run.sqlite.xz");
  compress_run(path_, out);
  EXPECT_EQ(read_run(out).head_digest, head_);
  EXPECT_LT(std::filesystem::file_size(out), bytes_.size() / 2);
  EXPECT_EQ(xz_compress(bytes_), base::read_file(out));  // deterministic
  EXPECT_EQ(xz_decompress(base::read_file(out), out, bytes_.size()), bytes_);
  EXPECT_THROW(compress_run(path_, out), base::Error);  // exists
  EXPECT_THROW(compress_run(out, folder_.file("twice.xz")), base::Error);
  EXPECT_THROW(RunFile::open_for_resume(out), base::Error);
}

TEST_F(Hostile, CompressedDamageIsRefused) {
  const std::string good = xz_compress(bytes_);
  EXPECT_THAT(refusal(with("cut.sqlite.xz", good.substr(0, good.size() / 2))),
              HasSubstr("cut-off"));
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  EXPECT_NE(refusal(with("flipped.sqlite.xz", flipped)), "");
  EXPECT_NE(refusal(with("tail.sqlite.xz", good + "x")), "");
  EXPECT_THAT(refusal(with("other.sqlite.xz", xz_compress("no database"))), HasSubstr("no run"));
  const std::string bomb = xz_compress(std::string(std::size_t{8} << 20U, '\0'));
  EXPECT_THROW(xz_decompress(bomb, "bomb", 1 << 20), base::Error);
}

TEST_F(Hostile, AnUnfinishedRunIsNotCompressed) {
  const record::RunRecord run = testing::random_run(22);
  const std::string path = folder_.file("open.sqlite");
  const RunFile file = testing::create_run(path, run);
  EXPECT_THROW(compress_run(path, folder_.file("open.sqlite.xz")), base::Error);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("open.sqlite.xz")));
}

TEST_F(Hostile, RunFilesAreTakenByNameWithoutTheirJournals) {
  const std::string plain = with("b.sqlite", "rubbish that is no database");
  const std::string packed = with("a.sqlite.xz", "rubbish");
  with("b.sqlite-wal", "journal");
  with("other.txt", "no run");
  std::filesystem::create_directory(folder_.file("folder.sqlite"));
  std::filesystem::create_directory(folder_.file("below"));
  with("below/c.sqlite", "of another folder");
  std::filesystem::remove(path_);
  EXPECT_THAT(run_files_in(folder_.path()), ::testing::ElementsAre(packed, plain));
  EXPECT_TRUE(run_files_in(folder_.file("absent")).empty());
  EXPECT_EQ(run_stem(packed), "a");
  EXPECT_EQ(run_stem(plain), "b");
}

TEST(Migration, StepsRunInOrderAndOnce) {
  static constexpr Migration kSteps[] = {
      {1, "first",
       "CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, description TEXT);"
       "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (4);"},
      {2, "second", "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 5;"}};
  Database database("memory", Database::Mode::kMemory);
  migrate(database, std::span(kSteps).first(1));
  EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
  migrate(database, kSteps);
  migrate(database, kSteps);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 2);
  EXPECT_EQ(database.integer("SELECT a * 10 + b FROM t"), 45);
  EXPECT_EQ(database.integer("SELECT count(*) FROM schema_migration"), 2);
  EXPECT_THROW(migrate(database, std::span(kSteps).first(1)), base::Error);
}

TEST(Migration, AStepThatFailsLeavesTheOldLayout) {
  static constexpr Migration kSteps[] = {
      {1, "first",
       "CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, description TEXT);"},
      {2, "second", "CREATE TABLE t (a INTEGER); no such statement;"}};
  Database database("memory", Database::Mode::kMemory);
  migrate(database, std::span(kSteps).first(1));
  EXPECT_THROW(migrate(database, kSteps), base::Error);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 't'"), 0);
}

// A layout-0 file: our mark, no tables yet. Reading migrates a copy and leaves the file alone.
TEST(Migration, AnOlderFileIsReadThroughACopy) {
  const TemporaryFolder folder;
  const std::string path = folder.file("old.sqlite");
  base::write_file_atomically(path, "");
  {
    Database database(path, Database::Mode::kWrite);
    database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.execute("PRAGMA user_version = 0");
    database.execute("CREATE TABLE x (a); DROP TABLE x");
  }
  const std::string before = base::read_file(path);
  EXPECT_THAT(refusal(path), HasSubstr("holds no run"));  // migrated, and then found empty
  EXPECT_EQ(base::read_file(path), before);
}

}  // namespace
}  // namespace abba::store
