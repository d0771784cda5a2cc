#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "harness/store/chain.h"
#include "harness/store/database.h"
#include "harness/store/open_run.h"
#include "harness/store/redact.h"
#include "harness/store/run_file.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

// Recomputes the digests as a stranger would: commits whose stored digest does not hold.
std::vector<std::int64_t> broken_entries(const std::string& path) {
  Database database = open_run(path, {});
  ContentDigest content(database);
  std::vector<std::int64_t> broken;
  std::string previous(64, '0');
  for (const ChainEntry& entry : read_chain(database)) {
    if (content.digest(entry.seq) != entry.content || entry.previous != previous ||
        entry_digest(entry) != entry.digest) {
      broken.push_back(entry.seq);
    }
    previous = entry.digest;
  }
  return broken;
}

class Chain : public ::testing::Test {
 protected:
  void SetUp() override { head_ = testing::write_run(path_, testing::random_run(31)); }
  void edit(const std::string& sql) const {
    Database database(path_, Database::Mode::kWrite);
    database.execute(sql);
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("run.sqlite");
  std::string head_;
};

TEST_F(Chain, HoldsAfterWritingAndEndsInTheHead) {
  EXPECT_TRUE(broken_entries(path_).empty());
  EXPECT_EQ(read_run(path_).head_digest, head_);
}

// What is digested as it is written is what is read back, whatever the order of writing.
TEST_F(Chain, HoldsWhereSlotsAndSamplesAreWrittenOutOfOrder) {
  for (const bool of_slots : {true, false}) {
    record::RunRecord run = testing::random_run(32);
    for (record::Pass& pass : run.passes) {
      for (record::Block& block : pass.blocks) {
        if (of_slots) std::reverse(block.slots.begin() + 1, block.slots.end());
        if (of_slots) continue;
        for (record::Slot& slot : block.slots)
          std::reverse(slot.samples.begin(), slot.samples.end());
      }
    }
    const std::string path = folder_.file(of_slots ? "slots.sqlite" : "samples.sqlite");
    testing::write_run(path, run);
    EXPECT_TRUE(broken_entries(path).empty());
  }
}

// The bytes of README.md, written out by hand for one commit: begin_pass of a pass.
TEST_F(Chain, TheSerialisationIsTheOneDescribed) {
  Database database = open_run(path_, {});
  const std::int64_t entry = database.integer("SELECT entry FROM pass WHERE id = 2");
  const std::string bytes = "pass(i2,i" + database.text("SELECT position FROM pass WHERE id = 2") +
                            ",t8:measured,i" +
                            database.text("SELECT start_ns FROM pass WHERE id = 2") + ")\n";
  const std::string content = base::sha256_hex(bytes);
  EXPECT_EQ(ContentDigest(database).digest(entry), content);
  const std::string seq = std::to_string(entry);
  const std::string previous =
      database.text("SELECT digest FROM chain WHERE seq = " + seq + " - 1");
  EXPECT_EQ(base::sha256_hex("abba.chain/1\n" + seq + "\npass begun\n" + content + "\n" + previous +
                             "\n"),
            database.text("SELECT digest FROM chain WHERE seq = " + seq));
}

TEST_F(Chain, EveryTableAndColumnIsCovered) {
  Database database = open_run(path_, {});
  std::map<std::string, std::string> listed;
  for (const ChainedTable& table : chained_tables()) {
    listed[table.name] = std::string(", ") + table.columns + ",";
  }
  for (const MutableColumn& column : mutable_columns()) {
    listed[column.table] += std::string(" ") + column.column + ",";
  }
  listed["private"] += " salt, text,";  // stand behind the commitment
  Statement rows = database.prepare(
      "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = "
      "'table' AND t.name NOT IN ('chain', 'schema_migration') AND c.name <> 'entry'");
  int columns = 0;
  while (rows.step()) {
    ++columns;
    EXPECT_NE(listed[rows.text(0)].find(" " + rows.text(1) + ","), std::string::npos)
        << rows.text(0) << "." << rows.text(1) << " could be edited unseen";
  }
  EXPECT_GT(columns, 100);
}

// One edit of each table that holds rows, each seen in the commit that brought the row.
TEST_F(Chain, AnEditOfAnyTableIsSeen) {
  const std::string good = base::read_file(path_);
  int tables = 0;
  for (const ChainedTable& table : chained_tables()) {
    const std::vector<std::string> columns = base::split(table.columns, ',');
    const std::string column(base::trim(columns.back()));
    base::write_file_atomically(path_, good);
    {
      Database database(path_, Database::Mode::kWrite);
      if (database.integer(std::string("SELECT count(*) FROM ") + table.name) == 0) {
        continue;
      }
      const bool text = database.text("SELECT typeof(" + column + ") FROM " + table.name) == "text";
      database.execute(std::string("UPDATE ") + table.name + " SET " + column + " = " +
                       (text ? column + " || 'x'" : "1 - " + column));
    }
    ++tables;
    EXPECT_FALSE(broken_entries(path_).empty()) << table.name;
  }
  EXPECT_GE(tables, 20);
}

TEST_F(Chain, RedactionKeepsTheChainAndRemovesTheText) {
  const std::string copy = folder_.file("redacted.sqlite");
  write_redacted(path_, copy);
  EXPECT_TRUE(broken_entries(copy).empty());
  const record::RunRecord read = read_run(copy);
  EXPECT_EQ(read.head_digest, head_);
  EXPECT_EQ(read.manifest.path, "");
  EXPECT_NE(read_run(path_).manifest.path, "");
  EXPECT_EQ(base::read_file(copy).find("/home/someone"), std::string::npos);
  EXPECT_NE(base::read_file(path_).find("/home/someone"), std::string::npos);  // the canary
  EXPECT_EQ(read.passes.size(), 3U);
  EXPECT_THROW(write_redacted(path_, copy), std::exception);
}

TEST_F(Chain, RedactionKeepsWhatItIsAskedToKeep) {
  const std::string copy = folder_.file("redacted.sqlite");
  write_redacted(path_, copy, {"manifest/"});
  EXPECT_EQ(read_run(copy).manifest.path, read_run(path_).manifest.path);
  EXPECT_TRUE(read_run(copy).workers[0].last_stderr.empty());
}

// The pass that was made again after an interruption has the rows that count.
TEST_F(Chain, RowsOfASupersededCapturePassDoNotCount) {
  Database database(path_, Database::Mode::kWrite);
  EXPECT_EQ(database.integer("SELECT count(*) FROM graph_capture"), 4);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_graph_capture"), 0);  // no pass, no row
  const auto pass = [&](int id, int superseded) {
    database.execute("INSERT INTO pass VALUES (" + std::to_string(id) +
                     ", 1, 0, 'graph_capture', 5, 6, " + std::to_string(superseded) + ", '')");
  };
  const auto capture = [&](int worker) {
    database.execute("INSERT INTO graph_capture (entry, worker, arm, workload, shape) VALUES (1, " +
                     std::to_string(worker) + ", 'A', 'w1', '[2]')");
  };
  pass(1000, 1);
  capture(1001);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_graph_capture"), 0);
  pass(1010, 0);
  capture(1011);
  capture(1012);
  EXPECT_EQ(database.integer("SELECT count(*) FROM v_graph_capture"), 2);
  EXPECT_EQ(database.integer("SELECT min(worker) FROM v_graph_capture"), 1011);
}

// v_verdict_input against the same value from the records, computed another way.
TEST_F(Chain, TheViewGivesThePassValues) {
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  };
  std::map<std::string, double> expected;
  for (const record::Pass& pass : read_run(path_).passes) {
    std::map<std::string, std::vector<double>> contrasts;
    for (const record::Block& block : pass.blocks) {
      double contrast = 0;
      for (const record::Slot& slot : block.slots) {
        std::vector<double> logs;
        for (const record::Sample& sample : slot.samples) {
          if (!sample.warmup && sample.status == record::SampleStatus::kOk) {
            logs.push_back(std::log(static_cast<double>(sample.duration_ns)));
          }
        }
        contrast += (slot.arm == "B" ? 0.5 : -0.5) * median(logs);
      }
      contrasts[block.workload + "|" + block.boundary].push_back(contrast);
    }
    for (const auto& [key, values] : contrasts) {
      std::vector<double> averages;
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = i; j < values.size(); ++j) {
          averages.push_back((values[i] + values[j]) / 2);
        }
      }
      if (pass.phase == record::Phase::kMeasured) {
        expected[key + "|" + std::to_string(pass.index)] = median(averages);
      }
    }
  }
  Database database(path_, Database::Mode::kRead);
  Statement rows = database.prepare(
      "SELECT workload || '|' || boundary || '|' || pass_index, pass_value FROM v_verdict_input");
  std::size_t count = 0;
  while (rows.step()) {
    ++count;
    ASSERT_TRUE(expected.contains(rows.text(0))) << rows.text(0);
    EXPECT_NEAR(rows.real(1), expected[rows.text(0)], 1e-12);
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_GE(count, 4U);
}

}  // namespace
}  // namespace abba::store
