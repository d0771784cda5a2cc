// Puts records into the tables of a run file, inside the caller's transaction: each function adds
// rows of commit `entry`. Knows the tables; knows nothing of transactions, the chain or files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/run_record.h"
#include "harness/record/verdict.h"
#include "harness/store/chain.h"
#include "harness/store/database.h"
#include "harness/store/result_sink.h"

namespace abba::store {

class RowWriter {
 public:
  explicit RowWriter(Database& database);

  void set_entry(std::int64_t entry);  // of the rows that follow
  // Those added since.
  [[nodiscard]] const WrittenSamples& written_samples() const { return written_; }

  void run(const record::RunRecord& start);
  void document(std::string_view name, std::string_view text);
  void manifest(const record::Manifest& manifest);
  // Stores a private string and returns its key: the one wanted, or one with the entry's number if
  // that is taken by another text.
  std::string private_string(const std::string& key, const std::string& text);
  // `text` with the private words in it, and the host's name, stored apart and replaced by marks:
  // for what programs and errors say, which the chain covers and nobody could redact later.
  std::string withheld(const std::string& text);
  base::Json withheld(const base::Json& json);  // in every text of it, members' names too
  // Sets a mutable column and logs it; the value it has already is no change.
  void change(const char* table, std::int64_t row, const char* column, const std::string& value);

  void facts(const Facts& facts);
  void pass(const record::Pass& pass);
  void block(std::int64_t pass_id, const record::Block& block);
  void environment(const std::vector<record::EnvironmentReading>& readings);
  void notes(const std::vector<record::Note>& notes);
  void analysis(const record::Analysis& analysis);

 private:
  void binding(const record::Binding& binding);
  void slot_count(const record::SlotCounts& counts);
  void hello(const std::string& arm, const record::WorkerHello& hello);
  void worker(const record::WorkerProcess& worker);
  void identity(const record::Identity& identity);
  void output_check(const record::OutputCheck& check);
  void graph_capture(const record::GraphCapture& capture);
  std::string mark_of(const std::string& word);
  void slot(std::int64_t block_id, const record::Slot& slot);
  void samples(std::int64_t slot_id, const std::vector<record::Sample>& samples);

  Database& database_;
  std::int64_t entry_ = 0;
  std::int64_t changes_ = 0;  // in this entry
  Statement block_;
  Statement slot_;
  Statement sample_;
  Statement samples_;  // kSampleRows at a time
  Statement value_;
  Statement span_;
  Statement environment_;
  WrittenSamples written_;
};

}  // namespace abba::store
