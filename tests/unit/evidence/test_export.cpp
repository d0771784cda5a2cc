// What leaves the house: rows as CSV and JSON lines, and a bundle that names what it withholds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/export_rows.h"
#include "harness/evidence/verify.h"
#include "harness/stats/analyze.h"
#include "harness/store/archive.h"
#include "harness/store/database.h"
#include "harness/store/run_file.h"
#include "harness/store/xz.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::evidence {
namespace {

using base::Json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Export : public ::testing::Test {
 protected:
  void SetUp() override { head_ = testing::write_valid(path_, run_); }
  [[nodiscard]] std::string unpacked(const std::string& bundle) const {
    std::string all;
    for (const auto& entry : store::read_archive(bundle, "bundle")) {
      all += entry.name + "\n" +
             (store::is_xz(entry.bytes) ? store::xz_decompress(entry.bytes, "run", 1U << 30U)
                                        : entry.bytes);
    }
    return all;
  }
  TemporaryFolder folder_;
  record::RunRecord run_ = testing::valid_run();
  std::string path_ = folder_.file(run_.run_id + ".sqlite");
  std::string head_;
};

TEST_F(Export, CsvHoldsEverySampleOnce) {
  const std::string csv = rows_as_csv(path_, "samples");
  const std::vector<std::string> lines = base::split(csv, '\n');
  std::size_t samples = 0;
  std::int64_t sum = 0;
  for (const auto& pass : run_.passes) {
    for (const auto& block : pass.blocks) {
      for (const auto& slot : block.slots) {
        samples += slot.samples.size();
        for (const auto& sample : slot.samples) sum += sample.duration_ns;
      }
    }
  }
  ASSERT_EQ(lines.size(), samples + 2);  // a header, and nothing behind the last line
  EXPECT_EQ(lines[0],
            "phase,pass,superseded,workload,boundary,block,slot_order,taint,failed,slot,position,"
            "arm,worker,seq,warmup,t_start_ns,duration_ns,status\r");
  std::int64_t found = 0;
  for (std::size_t i = 1; i <= samples; ++i) {
    const auto fields = base::split(lines[i], ',');
    ASSERT_EQ(fields.size(), 18U) << lines[i];
    found += std::stoll(fields[16]);
  }
  EXPECT_EQ(found, sum);
}

TEST_F(Export, CsvQuotesAndNamesTheTablesThereAre) {
  EXPECT_THAT(rows_as_csv(path_, "document"), HasSubstr("\"\"id\"\""));
  EXPECT_THAT(rows_as_csv(path_, "v_verdict_input"), StartsWith("workload,boundary,pass,"));
  try {
    rows_as_csv(path_, "sqlite_schema");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("there are samples, run, document"));
  }
}

TEST_F(Export, JsonLinesHoldEveryRowAndNoPrivateString) {
  const std::string text = rows_as_json_lines(path_);
  std::size_t rows = 0;
  std::size_t samples = 0;
  for (const std::string& line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const Json row = base::parse_json(line, "line");
    ++rows;
    samples += row.at("table") == Json("sample") ? 1 : 0;
  }
  store::Database database(path_, store::Database::Mode::kRead);
  EXPECT_EQ(samples, static_cast<std::size_t>(database.integer("SELECT count(*) FROM sample")));
  EXPECT_GT(rows, samples);
  EXPECT_THAT(text, HasSubstr("\"commitment\""));
  EXPECT_THAT(text, Not(HasSubstr("host-of-someone")));
  EXPECT_THAT(text, Not(HasSubstr("--key hush")));
}

TEST_F(Export, TheSameRunGivesTheSameBundle) {
  const std::string bundle = make_bundle(path_, {.facts = {.program = "p"}});
  EXPECT_EQ(bundle, make_bundle(path_, {.facts = {.program = "p"}}));
  store::compress_run(path_, path_ + ".xz");
  EXPECT_EQ(bundle, make_bundle(path_ + ".xz", {.facts = {.program = "p"}}));
}

TEST_F(Export, NoByteOfABundleHoldsAPrivateString) {
  const std::vector<std::string> secrets = {"host-of-someone", "/home/someone", "--key hush"};
  const std::string open =
      unpacked(make_bundle(path_, {.keep_private = true, .facts = {.program = "p"}}));
  const std::string closed = unpacked(make_bundle(path_, {.facts = {.program = "p"}}));
  for (const std::string& secret : secrets) {
    EXPECT_THAT(open, HasSubstr(secret));  // the canary
    EXPECT_THAT(closed, Not(HasSubstr(secret)));
  }
  store::Database database(path_, store::Database::Mode::kRead);
  store::Statement row = database.prepare("SELECT key, text FROM private");
  int listed = 0;
  while (row.step()) {
    EXPECT_THAT(closed, HasSubstr("\"key\": \"" + row.text(0) + "\""));
    EXPECT_THAT(closed, Not(HasSubstr(row.text(1)))) << row.text(0);
    ++listed;
  }
  EXPECT_GE(listed, 4);
}

TEST_F(Export, ABundleChecksOutWhateverItWithholds) {
  VerifyOptions options;
  options.analyze = [](const record::RunRecord& run) { return stats::analyze(run); };
  options.program = "p";
  for (const bool keep : {false, true}) {
    const std::string file = folder_.file(keep ? "open.zip" : "closed.zip");
    base::write_file_atomically(
        file, make_bundle(path_, {.keep_private = keep, .facts = {.program = "p"}}));
    const VerifyResult result = verify(file, options);
    EXPECT_EQ(result.ending, Ending::kConsistent) << result.sentence;
    EXPECT_EQ(result.head_digest, head_);
  }
}

// A string that the chain covers cannot be taken out: said before anything is written.
TEST_F(Export, APrivateStringInTheChainIsNotLetThrough) {
  store::Database(path_, store::Database::Mode::kWrite)
      .execute("UPDATE binding SET value = 'built on host-of-someone' WHERE id = 1");
  testing::recompute_chain(path_);
  try {
    make_bundle(path_, {.facts = {.program = "p"}});
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(),
                HasSubstr(" holds the private string host, which cannot be taken"));
  }
  EXPECT_NO_THROW(make_bundle(path_, {.keep_private = true, .facts = {.program = "p"}}));
}

TEST(RecomputeScript, IsShortAndTravelsInTheProgram) {
  const std::string_view script = recompute_script();
  EXPECT_EQ(script, base::read_file(ABBA_EVIDENCE "/recompute.py"));
  EXPECT_LE(std::count(script.begin(), script.end(), '\n'), 120);
}

}  // namespace
}  // namespace abba::evidence
