// Run files: a whole one that the input edits. "sql" and a line end: the rest is executed on it,
// with the schema writable; else four bytes an edit, three for the place and one for the value.
// Promises: verify ends in one of its three ways and never throws; what it finds consistent holds
// the rows it held, since no input can compute the chain's digests anew; readers refuse in words.
#include <exception>

#include "engine/base/error.h"
#include "harness/evidence/export_rows.h"
#include "harness/evidence/verify.h"
#include "harness/stats/analyze.h"
#include "harness/store/database.h"
#include "harness/store/run_file.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/evidence/valid_run.h"
#include "tests/unit/temporary_folder.h"

namespace {

namespace evidence = abba::evidence;
namespace store = abba::store;

class Target {
 public:
  Target() {
    const std::string path = folder_.file("good.sqlite");
    abba::testing::write_valid(path, abba::testing::valid_run());
    good_ = abba::base::read_file(path);
    rows_ = evidence::rows_as_json_lines(path);
    options_.analyze = [](const abba::record::RunRecord& run) { return abba::stats::analyze(run); };
  }

  std::string operator()(std::string_view input) {
    constexpr std::string_view kSql = "sql\n";
    const bool is_sql = input.starts_with(kSql);
    const std::string path = folder_.write("run.sqlite", is_sql ? good_ : edited(input));
    if (is_sql) execute(path, std::string(input.substr(kSql.size())));
    const std::string broken = check(path);
    std::error_code ignored;
    for (const char* more : {"-journal", "-wal", "-shm"})
      std::filesystem::remove(path + more, ignored);
    return broken;
  }

 private:
  [[nodiscard]] std::string edited(std::string_view input) const {
    std::string bytes = good_;
    for (std::size_t i = 0; i + 3 < input.size(); i += 4) {
      const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(input[i + k]); };
      const std::size_t place = byte(0) << 16U | byte(1) << 8U | byte(2);
      bytes[place % bytes.size()] = static_cast<char>(byte(3));
    }
    return bytes;
  }

  // One statement after the other; what SQLite refuses is skipped.
  static void execute(const std::string& path, const std::string& sql) {
    try {
      store::Database database(path, store::Database::Mode::kWrite);
      for (const std::string& statement : abba::base::split(sql, ';')) {
        try {
          if (statement.find("LOOP") == std::string::npos) database.execute(statement);
        } catch (const abba::base::Error&) {
        }
      }
    } catch (const abba::base::Error&) {
    }
  }

  std::string check(const std::string& path) {
    std::string rows;  // empty where a reader refuses
    try {
      static_cast<void>(store::read_run(path));
      rows = evidence::rows_as_json_lines(path);
    } catch (const abba::base::Error& error) {
      if (error.message().empty()) return "a refusal without words";
    } catch (const std::exception& error) {
      return std::string("a reader threw: ") + error.what();
    }
    try {
      const evidence::VerifyResult result = evidence::verify(path, options_);
      if (result.sentence.empty()) return "an ending without words";
      if (result.ending == evidence::Ending::kBroken) return "";
      return rows == rows_ ? "" : "other rows are called consistent";
    } catch (const std::exception& error) {
      return std::string("verify threw: ") + error.what();
    }
  }

  abba::TemporaryFolder folder_;
  std::string good_;
  std::string rows_;
  evidence::VerifyOptions options_;
};

}  // namespace

int main(int argc, char** argv) {
  Target target;
  return abba::fuzz::run(
      argc, argv,
      {"sql\n",
       "UPDATE run SET state = '",
       "UPDATE sample SET ",
       "duration_ns = ",
       "seq = ",
       "UPDATE document SET text = ",
       "UPDATE note SET text = char(27)",
       "DELETE FROM ",
       "chain",
       "slot",
       "block",
       "pass",
       "sample",
       "private",
       "document",
       "change",
       "verdict",
       " WHERE id = ",
       "NULL",
       "-1",
       "9223372036854775807",
       "1e308",
       "x'00ff'",
       "zeroblob(99)",
       "'a'",
       ";",
       "DROP VIEW v_pass",
       "CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END",
       "PRAGMA user_version = ",
       "PRAGMA application_id = 1",
       "CREATE TABLE t (a)",
       std::string("\0\0\x12", 3),
       std::string("\0\0\x1c", 3),
       "\xff\xff"},
      [&](std::string_view input) { return target(input); },
      20);  // a whole verification each
}
