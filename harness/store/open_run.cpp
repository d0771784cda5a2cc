#include "harness/store/open_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/store/schema.h"
#include "harness/store/xz.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr std::size_t kHeaderBytes = 20;  // as far as the form of the journal

std::string first_bytes(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::kBadInput, path, "there is no such file; `abba list` shows the runs");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::kBadInput, path,
                "is no regular file; name a .sqlite or .sqlite.xz file");
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kHeaderBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || !file.is_open()) {
    throw Error(ErrorCode::kBadInput, path, "cannot be read; check its permissions");
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

void require_sqlite(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kSqliteMagic)) {
    throw Error(ErrorCode::kBadInput, path,
                bytes.empty() ? "is empty; a run file holds an SQLite database"
                              : "is no run file (no SQLite database)");
  }
}

void check_whole(Database& database) {
  std::string verdict = database.text("PRAGMA quick_check(1)");
  std::replace(verdict.begin(), verdict.end(), '\n', ' ');
  if (verdict != "ok") {
    throw Error(ErrorCode::kBadInput, database.path(), "is damaged: " + verdict);
  }
  Statement broken = database.prepare("PRAGMA foreign_key_check");
  if (broken.step()) {
    throw Error(ErrorCode::kBadInput, database.path(),
                "is damaged: a row of " + broken.text(0) + " refers to a row of " + broken.text(2) +
                    " that is not there");
  }
}

// Bytes 18 and 19 of a header: 2 = WAL, 1 = rollback journal.
bool is_left_in_wal(std::string_view header) {
  return header.size() >= kHeaderBytes && header[18] == 2;
}

// A database that a crash left open in WAL mode cannot be read from memory unless its header says
// otherwise.
Database from_memory(const std::string& path, std::string bytes, bool writable) {
  if (is_left_in_wal(bytes)) {
    bytes[18] = bytes[19] = 1;
  }
  return Database::from_bytes(path, bytes, writable);
}

// SQLite makes files beside one in WAL mode even to read it. Where it cannot (a folder of another
// user, a read-only medium), a file without a journal is whole by itself: its run ended, and was
// killed before the header said so. One with a journal can be read if its index is there too.
bool must_be_read_alone(const std::string& path, std::string_view header) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (!is_left_in_wal(header) || ::access(folder.c_str(), W_OK) == 0) return false;
  const std::uintmax_t journal = fs::file_size(path + "-wal", error);
  if (error || journal == 0) return true;
  if (!fs::exists(path + "-shm", error)) {
    throw Error(ErrorCode::kBadInput, path,
                "was left by a run that was killed, and its journal (the file of the same name "
                "with -wal) cannot be played back in a folder that you may not write; copy both "
                "files to one that you may, and name that copy");
  }
  return false;
}

Database migrated_copy(const std::string& path, std::string bytes) {
  Database database = from_memory(path, std::move(bytes), true);
  migrate(database);
  return database;
}

}  // namespace

Database open_run(const std::string& path, const OpenOptions& options) {
  std::string bytes = first_bytes(path);
  const bool compressed = is_xz(bytes);
  if (compressed) {
    bytes = xz_decompress(base::read_file(path, options.max_bytes), path, options.max_bytes);
  }
  require_sqlite(bytes, path);
  const bool alone = !compressed && must_be_read_alone(path, bytes);
  if (alone) bytes = base::read_file(path, options.max_bytes);
  const bool in_memory = compressed || alone;
  Database database =
      in_memory ? from_memory(path, bytes, false) : Database(path, Database::Mode::kRead);
  if (database.integer("PRAGMA application_id") != kApplicationId) {
    throw Error(ErrorCode::kBadInput, path,
                "is an SQLite database of another program, no run file");
  }
  database.execute("PRAGMA cell_size_check = ON");
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version > kSchemaVersion) {
    migrate(database);  // refuses
  }
  // Before anything that the schema could bend, and before a migration replaces what may be false.
  require_own_schema(database);
  if (options.check) {
    check_whole(database);
  }
  if (version < kSchemaVersion) {
    return migrated_copy(path,
                         in_memory ? std::move(bytes) : base::read_file(path, options.max_bytes));
  }
  return database;
}

}  // namespace abba::store
