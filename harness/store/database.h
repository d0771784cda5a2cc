// Owners of an SQLite connection and of a prepared statement. database.cpp is the one file that
// includes sqlite3.h. Every refusal of SQLite becomes base::Error with the file's name: kBroken for
// the disk, locks and writing; kBadInput for a malformed file and for anything while only reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace abba::store {

// A compiled statement of one Database, which must outlive it. Parameters and columns count from 0.
class Statement {
 public:
  Statement(sqlite3* connection, const std::string& file, bool reading, std::string_view sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  void bind(int index, std::int64_t value);
  void bind(int index, int value) { bind(index, std::int64_t{value}); }
  void bind(int index, bool value) { bind(index, std::int64_t{value ? 1 : 0}); }
  void bind(int index, double value);  // NaN is stored as NULL
  void bind(int index, std::string_view value);
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { bind(index, std::string_view(value)); }
  void bind(int index, std::nullptr_t);
  void bind(int index, const std::optional<std::int64_t>& value);  // absent is stored as NULL

  // True while there is a row; at the end, or after an error, the statement is ready to run again.
  bool step();
  void reset();
  // Binds all parameters and runs to the end: for statements that return no rows.
  template <typename... Values>
  void run(const Values&... values) {
    int index = 0;
    (bind(index++, values), ...);
    step();
  }

  enum class Kind { kNull, kInteger, kReal, kText, kBlob };
  [[nodiscard]] int column_count() const;
  [[nodiscard]] std::string column_name(int column) const;
  [[nodiscard]] Kind kind(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;             // NULL reads as NaN
  [[nodiscard]] std::string_view bytes(int column) const;  // valid until the next step
  [[nodiscard]] std::string text(int column) const { return std::string(bytes(column)); }

 private:
  [[noreturn]] void fail();
  sqlite3* connection_;
  const std::string& file_;
  bool reading_;
  sqlite3_stmt* statement_ = nullptr;
};

// Not for use by several threads at once.
class Database {
 public:
  enum class Mode { kRead, kWrite, kMemory };

  // kRead: nothing in the file is trusted (no extensions, triggers, views or schema functions;
  // small limits). kWrite: the file must exist. kMemory: an empty database; `path` only names it.
  Database(const std::string& path, Mode mode);
  // A read-only database whose content are `bytes`, the content of the file `path`.
  static Database from_bytes(const std::string& path, std::string_view bytes, bool writable);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  [[nodiscard]] const std::string& path() const { return *path_; }
  [[nodiscard]] Statement prepare(std::string_view sql);
  void execute(const std::string& sql);
  [[nodiscard]] std::int64_t integer(std::string_view sql);  // first column of the first row
  [[nodiscard]] std::string text(std::string_view sql);      // likewise; "" if there is no row
  void set_busy_timeout(int milliseconds);
  [[nodiscard]] bool in_transaction() const;

 private:
  void close();
  void harden();
  void limit();        // what a statement may cost, for content from outside
  std::string* path_;  // owned; statements refer to it, so it must not move
  bool reading_;
  sqlite3* connection_ = nullptr;
};

// BEGIN IMMEDIATE ... COMMIT, rolled back if it is left without commit().
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

// Random bytes as lower-case hexadecimal digits, from the system's source: for salts.
std::string random_hex(std::size_t byte_count);

}  // namespace abba::store
