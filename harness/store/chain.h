// The chain over a run file: every commit is a row of `chain` whose digest covers a canonical
// serialisation of the rows the commit brought and the digest before it. README.md states the
// bytes. The same code serves the writer (which reads back what it has just written) and
// verification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Serialises and digests the rows of commits; owns one prepared statement a table.
class ContentDigest {
 public:
  explicit ContentDigest(Database& database);
  // Digest of the rows of commit `entry`. Counts them in `row_counts`, by table.
  std::string digest(std::int64_t entry);
  [[nodiscard]] const std::vector<std::int64_t>& row_counts() const { return row_counts_; }

 private:
  std::vector<Statement> statements_;
  std::vector<std::int64_t> row_counts_;
  std::string buffer_;
};

std::vector<ChainEntry> read_chain(Database& database);

// SHA-256 of salt and text: what stands for a private string in the chain.
std::string commitment(std::string_view salt_hex, std::string_view text);

}  // namespace abba::store
