// The chain over a run file: every commit is a row of `chain` whose digest covers a canonical
// serialisation of the rows the commit brought and the digest before it. README.md states the
// bytes. The same code serves verification and the writer, which reads back what it has just
// written; only samples, nine rows of ten, it serialises as it writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/sha256.h"
#include "harness/store/database.h"

namespace abba::store {

struct ChainedTable {
  enum class Owner { kEntry, kBlock, kSlot };  // the column that leads to the commit
  const char* name;
  const char* columns;  // those that never change, in the order of serialisation
  Owner owner;
  const char* order;  // its key
};

// In the order of serialisation.
const std::vector<ChainedTable>& chained_tables();

// Columns that may change after their row was committed; each change is a row of `change`.
struct MutableColumn {
  const char* table;
  const char* column;
  const char* initial;  // what a new row holds
};
const std::vector<MutableColumn>& mutable_columns();

struct ChainEntry {
  std::int64_t seq = 0;  // 1, 2, ...
  std::string kind;
  std::string content;   // digest of the rows
  std::string previous;  // digest of the entry before, 64 zeros for the first
  std::string digest;
};

// The digest of an entry from its other members.
std::string entry_digest(const ChainEntry& entry);

// The samples of a commit, serialised as they are written.
class WrittenSamples {
 public:
  void clear();
  void add(std::int64_t slot, std::int64_t seq, bool warmup, std::int64_t start_ns,
           std::int64_t duration_ns, std::int64_t status);
  // Rows added in the order of their key, as the chain has them; otherwise they must be read back.
  [[nodiscard]] bool in_order() const { return in_order_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  std::string text_;
  std::int64_t count_ = 0;
  std::int64_t last_slot_ = 0;
  std::int64_t last_seq_ = 0;
  bool in_order_ = true;
};

// Serialises and digests the rows of commits; owns one prepared statement a table.
class ContentDigest {
 public:
  explicit ContentDigest(Database& database);
  // Digest of the rows of commit `entry`. Counts them in `row_counts`, by table. `samples`: all
  // that the commit wrote, or null.
  std::string digest(std::int64_t entry, const WrittenSamples* samples = nullptr);
  [[nodiscard]] const std::vector<std::int64_t>& row_counts() const { return row_counts_; }

 private:
  void read(std::size_t table, std::int64_t entry, base::Sha256& sha);
  void flush(base::Sha256& sha);

  std::vector<Statement> statements_;
  std::vector<std::int64_t> row_counts_;
  std::string buffer_;
};

std::vector<ChainEntry> read_chain(Database& database);

// SHA-256 of salt and text: what stands for a private string in the chain.
std::string commitment(std::string_view salt_hex, std::string_view text);

}  // namespace abba::store
