#include "harness/store/database.h"

#include <sqlite3.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;

// What a person needs to know of a result code, and what to do about it.
std::string sentence(int code, const std::string& detail) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk or the file's size limit is full; what was committed before is intact, free "
             "space, then resume or run again";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the file locked; what was committed before is intact, end that "
             "process, then resume or run again";
    case SQLITE_IOERR:
      return "reading or writing failed (" + detail +
             "); what was committed before is intact, check the disk";
    case SQLITE_READONLY:
      return "cannot be written (read-only file, folder or file system)";
    case SQLITE_CANTOPEN:
      return "cannot be opened (" + detail + "); check the path and its permissions";
    case SQLITE_NOMEM:
      return "not enough memory";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return "is damaged or no run file (" + detail + ")";
    default:
      return "SQLite refused: " + detail;
  }
}

[[noreturn]] void refuse(sqlite3* connection, int code, const std::string& file, bool reading) {
  const std::string detail =
      connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  const int kind = code & 0xff;
  const bool malformed = kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT;
  throw Error(reading || malformed ? ErrorCode::kBadInput : ErrorCode::kBroken, file,
              sentence(code, detail));
}

// A connection serves one thread at a time: no locks inside it.
constexpr int kUnshared = SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX;

int open_flags(Database::Mode mode) {
  switch (mode) {
    case Database::Mode::kRead:
      return SQLITE_OPEN_READONLY | kUnshared;
    case Database::Mode::kWrite:
      return SQLITE_OPEN_READWRITE | kUnshared;
    case Database::Mode::kMemory:
      break;
  }
  // Its name, ":memory:", says what it is; as a flag it would also make VACUUM INTO write to
  // memory.
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | kUnshared;
}

}  // namespace

Statement::Statement(sqlite3* connection, const std::string& file, bool reading,
                     std::string_view sql)
    : connection_(connection), file_(file), reading_(reading) {
  const int code = sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) {
    refuse(connection_, code, file_, reading_);
  }
}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      file_(other.file_),
      reading_(other.reading_),
      statement_(std::exchange(other.statement_, nullptr)) {}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::fail() {
  // Reset first: it keeps the connection's message and frees the locks the statement holds.
  const int code = sqlite3_reset(statement_);
  refuse(connection_, code, file_, reading_);
}

void Statement::bind(int index, std::int64_t value) {
  ABBA_CHECK(sqlite3_bind_int64(statement_, index + 1, value) == SQLITE_OK);
}

void Statement::bind(int index, double value) {
  ABBA_CHECK(sqlite3_bind_double(statement_, index + 1, value) == SQLITE_OK);
}

void Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL; the empty text is a text. Bound values are copied: the callers'
  // strings are often temporaries.
  const char* data = value.data() != nullptr ? value.data() : "";
  const int code =
      sqlite3_bind_text64(statement_, index + 1, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) {
    refuse(connection_, code, file_, reading_);
  }
}

void Statement::bind(int index, std::nullptr_t) {
  ABBA_CHECK(sqlite3_bind_null(statement_, index + 1) == SQLITE_OK);
}

void Statement::bind(int index, const std::optional<std::int64_t>& value) {
  if (value) {
    bind(index, *value);
  } else {
    bind(index, nullptr);
  }
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    fail();
  }
  sqlite3_reset(statement_);
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_);
}

int Statement::column_count() const {
  return sqlite3_column_count(statement_);
}

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? "" : name;
}

Statement::Kind Statement::kind(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Kind::kInteger;
    case SQLITE_FLOAT:
      return Kind::kReal;
    case SQLITE_TEXT:
      return Kind::kText;
    case SQLITE_BLOB:
      return Kind::kBlob;
    default:
      return Kind::kNull;
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const {
  return kind(column) == Kind::kNull ? std::numeric_limits<double>::quiet_NaN()
                                     : sqlite3_column_double(statement_, column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

Database::Database(const std::string& path, Mode mode)
    : path_(new std::string(path)), reading_(mode == Mode::kRead) {
  // An absolute name is never taken for a URI ("file:...").
  const std::string name =
      mode == Mode::kMemory ? ":memory:" : std::filesystem::absolute(path).string();
  const int code = sqlite3_open_v2(name.c_str(), &connection_, open_flags(mode), nullptr);
  if (code != SQLITE_OK) {
    std::string message = sentence(code, sqlite3_errmsg(connection_));
    close();
    throw Error(reading_ ? ErrorCode::kBadInput : ErrorCode::kBroken, path, message);
  }
  sqlite3_extended_result_codes(connection_, 1);
  harden();
}

Database Database::from_bytes(const std::string& path, std::string_view bytes, bool writable) {
  Database database(path, Mode::kMemory);
  database.reading_ = !writable;
  database.limit();  // also a copy that is migrated came from outside
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) {
    throw Error(ErrorCode::kBroken, path, "not enough memory to read it");
  }
  std::memcpy(copy, bytes.data(), bytes.size());
  const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE |
                         (writable ? SQLITE_DESERIALIZE_RESIZEABLE : SQLITE_DESERIALIZE_READONLY);
  const int code =
      sqlite3_deserialize(database.connection_, "main", copy, size, size, flags);  // owns `copy`
  if (code != SQLITE_OK) {
    refuse(database.connection_, code, path, true);
  }
  return database;
}

Database::Database(Database&& other) noexcept
    : path_(std::exchange(other.path_, nullptr)),
      reading_(other.reading_),
      connection_(std::exchange(other.connection_, nullptr)) {}

Database::~Database() {
  close();
}

void Database::close() {
  sqlite3_close(connection_);
  connection_ = nullptr;
  delete path_;
  path_ = nullptr;
}

void Database::harden() {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  if (reading_) {
    limit();
  }
}

void Database::limit() {
  constexpr std::array kLimits = {std::pair{SQLITE_LIMIT_LENGTH, 256 << 20},
                                  std::pair{SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                  std::pair{SQLITE_LIMIT_COLUMN, 100},
                                  std::pair{SQLITE_LIMIT_EXPR_DEPTH, 100},
                                  std::pair{SQLITE_LIMIT_COMPOUND_SELECT, 10},
                                  std::pair{SQLITE_LIMIT_VDBE_OP, 250'000},
                                  std::pair{SQLITE_LIMIT_ATTACHED, 1},
                                  std::pair{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                                  std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1}};
  for (const auto& [limit, value] : kLimits) {
    sqlite3_limit(connection_, limit, value);
  }
}

Statement Database::prepare(std::string_view sql) {
  return {connection_, *path_, reading_, sql};
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    refuse(connection_, code, *path_, reading_);
  }
}

std::int64_t Database::integer(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.text(0) : std::string();
}

void Database::set_busy_timeout(int milliseconds) {
  sqlite3_busy_timeout(connection_, milliseconds);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(connection_) == 0;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // SQLite itself may have rolled back already (a full disk does that).
  if (open_ && database_.in_transaction()) {
    try {
      database_.execute("ROLLBACK");
    } catch (const Error&) {
      // The journal undoes it when the file is next opened.
    }
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

std::string random_hex(std::size_t byte_count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> bytes(byte_count);
  sqlite3_randomness(static_cast<int>(byte_count), bytes.data());
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace abba::store
