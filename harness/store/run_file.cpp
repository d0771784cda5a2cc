#include "harness/store/run_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/store/chain.h"
#include "harness/store/database.h"
#include "harness/store/record_json.h"
#include "harness/store/row_writer.h"
#include "harness/store/schema.h"
#include "harness/store/xz.h"

namespace abba::store {
namespace {

using base::Error;
using base::ErrorCode;

const std::string kNoDigest(64, '0');

[[noreturn]] void refuse_creation(const std::string& path) {
  throw Error(ErrorCode::kBroken, path,
              errno == EEXIST ? "exists already; a run never replaces another"
                              : "cannot be created: " + base::errno_text(errno));
}

void create_empty(const std::string& path, const std::string& named) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) {
    refuse_creation(named);
  }
  ::close(file);
}

// Under its name a run file holds at least its first commit, whenever the process is killed.
void publish(const std::string& made, const std::string& path) {
  if (::link(made.c_str(), path.c_str()) != 0) {
    refuse_creation(path);
  }
  ::unlink(made.c_str());
}

// Says that this process writes the file, from before the database is opened until after it is
// closed. An advisory lock of its own kind (flock): SQLite lets two writers in turn, and the chain
// of the first would break. Closed last, because closing any descriptor of a file drops SQLite's
// own locks on it.
class WriterHold {
 public:
  explicit WriterHold(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) {
      throw Error(ErrorCode::kBroken, path, "cannot be opened: " + base::errno_text(errno));
    }
    if (!locked_soon()) {
      ::close(file_);
      throw Error(ErrorCode::kPreflight, path,
                  "is being written by a run that is still going; wait for it or stop it");
    }
  }
  WriterHold(const WriterHold&) = delete;
  WriterHold& operator=(const WriterHold&) = delete;
  ~WriterHold() { ::close(file_); }

 private:
  // A reader that asks whether somebody writes holds the lock for a moment.
  [[nodiscard]] bool locked_soon() const {
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; ++i) {
      if (i > 0) ::usleep(20'000);
      if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return true;
    }
    return false;
  }

  int file_;
};

void configure(Database& database, const RunFileOptions& options) {
  database.set_busy_timeout(options.busy_timeout_ms);
  database.execute("PRAGMA foreign_keys = ON");
  database.execute("PRAGMA synchronous = NORMAL");
  database.execute("PRAGMA cache_size = -16000");
  if (options.max_bytes > 0) {
    const std::int64_t pages = options.max_bytes / database.integer("PRAGMA page_size");
    database.execute("PRAGMA max_page_count = " + std::to_string(pages));
  }
}

// Going over to a WAL or away from it rewrites the first page. What would undo that stays in
// memory: a kill leaves the page written or not, and a rollback journal left beside the file would
// have to be played back, which a reader cannot do.
void begin_journal(Database& database) {
  if (database.text("PRAGMA journal_mode") != "wal") {
    database.execute("PRAGMA journal_mode = MEMORY");
    database.execute("PRAGMA journal_mode = WAL");
  }
  database.execute("PRAGMA wal_autocheckpoint = 8000");  // pages: fewer waits for the disk
}

// Leaves one plain file, which needs no folder that can be written to be read.
void end_journal(Database& database) {
  database.execute("PRAGMA journal_mode = MEMORY");
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(path + suffix, ignored);
  }
}

}  // namespace

bool is_being_written(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return held;
}

struct RunFile::Impl {
  explicit Impl(const std::string& path) : hold(path), database(path, Database::Mode::kWrite) {}

  // Statements are compiled once the tables exist.
  void start_writing() {
    rows.emplace(database);
    content.emplace(database);
    insert_entry.emplace(database.prepare(
        "INSERT INTO chain (seq, kind, content, previous, digest) VALUES (?, ?, ?, ?, ?)"));
    const std::vector<ChainEntry> entries = read_chain(database);
    if (!entries.empty()) {
      last = entries.back();
    }
  }

  // One transaction: the rows that `write` adds and their entry in the chain.
  template <typename Write>
  void commit(std::string_view kind, const Write& write) {
    ABBA_CHECK(!finished);
    Transaction transaction(database);
    ChainEntry entry;
    entry.seq = last.seq + 1;
    entry.kind = kind;
    entry.previous = last.digest.empty() ? kNoDigest : last.digest;
    rows->set_entry(entry.seq);
    write(*rows);
    entry.content = content->digest(entry.seq, &rows->written_samples());
    entry.digest = entry_digest(entry);
    insert_entry->run(entry.seq, entry.kind, entry.content, entry.previous, entry.digest);
    transaction.commit();
    last = std::move(entry);
  }

  WriterHold hold;  // outlives the database: see its comment
  Database database;
  std::optional<RowWriter> rows;
  std::optional<ContentDigest> content;
  std::optional<Statement> insert_entry;
  ChainEntry last;
  bool finished = false;
};

RunFile::RunFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunFile::RunFile(RunFile&&) noexcept = default;
RunFile& RunFile::operator=(RunFile&&) noexcept = default;
RunFile::~RunFile() = default;

std::unique_ptr<RunFile::Impl> RunFile::open_to_write(const std::string& path,
                                                      const RunFileOptions& options) {
  auto impl = std::make_unique<Impl>(path);
  configure(impl->database, options);
  begin_journal(impl->database);
  migrate(impl->database);
  impl->start_writing();
  return impl;
}

RunFile RunFile::create(const std::string& path, const record::RunRecord& start,
                        const RunTexts& texts, const RunFileOptions& options) {
  const std::string making = path + ".new" + std::to_string(::getpid());
  create_empty(making, path);
  try {
    {
      Impl first(making);
      configure(first.database, options);
      begin_journal(first.database);
      migrate(first.database);
      first.start_writing();
      first.commit("created", [&](RowWriter& rows) {
        rows.run(start);
        rows.manifest(start.manifest);
        rows.document("manifest_text", texts.manifest_text);
        rows.document("lock", texts.lock.dump());
        rows.document("registration", to_json(start.registration).dump());
        rows.document("plan", to_json(start.plan).dump());
        rows.notes(start.notes);
      });
    }
    publish(making, path);
  } catch (const Error& error) {
    remove_file(making);
    throw Error(error.code(), path, error.message());
  } catch (...) {
    remove_file(making);
    throw;
  }
  try {
    return RunFile(open_to_write(path, options));
  } catch (...) {
    remove_file(path);  // nothing half-written: we made it a moment ago
    throw;
  }
}

RunFile RunFile::open_for_resume(const std::string& path, const RunFileOptions& options) {
  const record::RunRecord run = read_run(path, {.samples = false, .environment = false});
  if (run.state == record::RunState::kFinished) {
    throw Error(ErrorCode::kBadInput, path,
                "is a finished run, which is never amended; start a new run");
  }
  if (path.ends_with(".xz")) {
    throw Error(ErrorCode::kBadInput, path, "is compressed; unpack it with `xz -d` to go on");
  }
  auto impl = open_to_write(path, options);
  impl->commit("resumed", [&](RowWriter& rows) {
    rows.change("run", 1, "state", std::string(record::name(record::RunState::kRunning)));
    rows.change("run", 1, "state_text", "");
    rows.change("run", 1, "finished_utc", "");
    rows.change("run", 1, "resumed", std::to_string(run.resumed + 1));
  });
  return RunFile(std::move(impl));
}

void RunFile::commit_facts(std::string_view kind, const Facts& facts) {
  impl_->commit(kind, [&](RowWriter& rows) { rows.facts(facts); });
}

void RunFile::begin_pass(const record::Pass& pass) {
  impl_->commit("pass begun", [&](RowWriter& rows) { rows.pass(pass); });
}

void RunFile::end_pass(std::int64_t pass_id, std::int64_t end_ns) {
  impl_->commit("pass ended", [&](RowWriter& rows) {
    rows.change("pass", pass_id, "end_ns", std::to_string(end_ns));
  });
}

void RunFile::supersede_pass(std::int64_t pass_id, std::string_view why) {
  impl_->commit("pass superseded", [&](RowWriter& rows) {
    rows.change("pass", pass_id, "superseded", "1");
    rows.change("pass", pass_id, "why", rows.withheld(std::string(why)));
  });
}

void RunFile::commit_block(std::int64_t pass_id, const record::Block& block,
                           const std::vector<record::EnvironmentReading>& environment,
                           const std::vector<record::Note>& notes) {
  impl_->commit("block", [&](RowWriter& rows) {
    rows.block(pass_id, block);
    rows.environment(environment);
    rows.notes(notes);
  });
}

void RunFile::commit_analysis(const record::Analysis& analysis) {
  impl_->commit("analysis", [&](RowWriter& rows) { rows.analysis(analysis); });
}

std::string RunFile::finish(record::RunState state, std::string_view text,
                            std::string_view finished_utc) {
  ABBA_CHECK(state != record::RunState::kRunning);
  impl_->commit("finished", [&](RowWriter& rows) {
    rows.change("run", 1, "state", std::string(record::name(state)));
    rows.change("run", 1, "state_text", rows.withheld(std::string(text)));
    rows.change("run", 1, "finished_utc", std::string(finished_utc));
  });
  impl_->finished = true;
  impl_->insert_entry.reset();
  impl_->content.reset();
  impl_->rows.reset();
  try {
    end_journal(impl_->database);
  } catch (const Error&) {
    // A reader keeps the file open. The run is stored; its journal stays beside the file until the
    // last reader closes it.
  }
  return impl_->last.digest;
}

const std::string& RunFile::path() const {
  return impl_->database.path();
}

std::string RunFile::head_digest() const {
  return impl_->last.digest;
}

}  // namespace abba::store
