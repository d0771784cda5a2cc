#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/store/database.h"
#include "harness/store/run_file.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

using ::testing::HasSubstr;

base::Error refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const base::Error& error) {
    return error;
  }
  ADD_FAILURE() << "was not refused";
  return {base::ErrorCode::kBadInput, "", ""};
}

std::size_t blocks_in(const record::RunRecord& run) {
  std::size_t count = 0;
  for (const record::Pass& pass : run.passes) {
    count += pass.blocks.size();
  }
  return count;
}

// A child process that writes blocks until it kills itself in the middle of its `blocks`+1st.
void write_and_die(const std::string& path, const record::RunRecord& run, std::size_t blocks) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RunFile file = testing::create_run(path, run);
    file.begin_pass(run.passes[0]);
    for (std::size_t i = 0; i < blocks; ++i) {
      file.commit_block(1, run.passes[0].blocks[i], {}, {});
    }
    // The block in flight: rows written, the commit not reached.
    Database other(path, Database::Mode::kWrite);
    other.execute("BEGIN IMMEDIATE");
    other.execute(
        "INSERT INTO note (entry, code, severity, place, text) VALUES (99,'x','x','','')");
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(Durability, AKilledProcessLosesAtMostTheBlockInFlight) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(11);
  write_and_die(path, run, 3);
  const record::RunRecord read = read_run(path);
  EXPECT_EQ(read.state, record::RunState::kRunning);
  EXPECT_EQ(blocks_in(read), 3U);
  EXPECT_EQ(read.passes[0].blocks[2].slots[3].samples.size(), 7U);
  for (const record::Note& note : read.notes) {
    EXPECT_NE(note.code, "x");
  }
}

TEST(Durability, ResumeSupersedesContinuesAndFinishes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(12);
  write_and_die(path, run, 2);
  {
    RunFile file = RunFile::open_for_resume(path);
    file.supersede_pass(1, "the harness was killed");
    record::Pass again = run.passes[0];
    again.id = 10;
    for (record::Block& block : again.blocks) {
      block.id += 9000;
      for (record::Slot& slot : block.slots) {
        slot.id += 90000;
      }
    }
    file.begin_pass(again);
    for (const record::Block& block : again.blocks) {
      file.commit_block(10, block, {}, {});
    }
    file.end_pass(10, again.end_ns);
    file.finish(record::RunState::kFinished, "", run.finished_utc);
  }
  const record::RunRecord read = read_run(path);
  EXPECT_EQ(read.resumed, 1);
  EXPECT_EQ(read.state, record::RunState::kFinished);
  ASSERT_EQ(read.passes.size(), 2U);
  EXPECT_TRUE(read.passes[0].superseded);
  EXPECT_EQ(read.passes[0].why, "the harness was killed");
  EXPECT_EQ(read.passes[0].blocks.size(), 2U);
  EXPECT_FALSE(read.passes[1].superseded);
  EXPECT_EQ(read.passes[1].blocks.size(), 4U);
  EXPECT_THROW(RunFile::open_for_resume(path), base::Error);  // a finished run is never amended
}

// Kills this process just before its `countdown`-th change of a file from now on.
int countdown = 0;
void strike() {
  if (--countdown == 0) ::raise(SIGKILL);
}

template <auto Tag, typename Result, typename... Arguments>
struct Struck {
  static inline Result (*next)(Arguments...) = nullptr;
  static Result call(Arguments... arguments) {
    strike();
    return next(arguments...);
  }
  static void install(sqlite3_vfs* vfs, const char* name) {
    next = reinterpret_cast<Result (*)(Arguments...)>(vfs->xGetSystemCall(vfs, name));
    ASSERT_NE(next, nullptr) << name;
    vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(&call));
  }
};

// SQLite's calls that make, change, cut or remove a file.
void strike_at(int number) {
  countdown = number;
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  Struck<1, int, const char*, int, int>::install(vfs, "open");
  Struck<2, ssize_t, int, const void*, std::size_t, off_t>::install(vfs, "pwrite64");
  Struck<3, int, int, off_t>::install(vfs, "ftruncate");
  Struck<4, int, const char*>::install(vfs, "unlink");
}

// Runs `act` in a child process that is killed before its n-th step, for n = 1, 2, ... until it
// comes to its end alive; `look` sees what each child left. The number of kills.
int kill_before_every_step(const std::function<void()>& prepare, const std::function<void()>& act,
                           const std::function<void()>& look) {
  for (int n = 1;; ++n) {
    prepare();
    const pid_t child = ::fork();
    if (child == 0) {
      strike_at(n);
      act();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    look();
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return n - 1;
    }
    if (::testing::Test::HasFailure()) return n;  // one step is enough to look at
  }
}

class Steps : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("run.sqlite"); }
  void remove_all() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove(entry.path());
    }
  }
  // One pass with its blocks, and the given end.
  void write(record::RunState end) {
    RunFile file = RunFile::create(path(), run_, testing::texts_of(run_));
    file.begin_pass(run_.passes[0]);
    for (const record::Block& block : run_.passes[0].blocks) {
      file.commit_block(run_.passes[0].id, block, {}, {});
    }
    file.finish(end, "", run_.finished_utc);
  }
  record::RunRecord read() {
    EXPECT_FALSE(std::filesystem::exists(path() + "-journal"));
    return read_run(path());  // read-only
  }

  TemporaryFolder folder_;
  record::RunRecord run_ = testing::random_run(20);
};

TEST_F(Steps, AKillDuringCreationLeavesAFileThatCanBeReadOrNone) {
  int begun = 0;
  const int kills = kill_before_every_step(
      [&] { remove_all(); }, [&] { RunFile::create(path(), run_, testing::texts_of(run_)); },
      [&] {
        if (!std::filesystem::exists(path())) return;
        ++begun;
        EXPECT_EQ(read().state, record::RunState::kRunning);
        RunFile::open_for_resume(path());
      });
  EXPECT_GT(kills, 10);
  EXPECT_GT(begun, 1);
}

TEST_F(Steps, AKillDuringTheEndLosesNoBlock) {
  int ended = 0;
  const int kills = kill_before_every_step(
      [&] {
        remove_all();
        write(record::RunState::kStopped);
      },
      [&] {
        RunFile file = RunFile::open_for_resume(path());
        file.finish(record::RunState::kFinished, "", run_.finished_utc);
      },
      [&] {
        const record::RunRecord found = read();
        EXPECT_EQ(blocks_in(found), run_.passes[0].blocks.size());
        ended += found.state == record::RunState::kFinished ? 1 : 0;
        if (found.state != record::RunState::kFinished) RunFile::open_for_resume(path());
      });
  EXPECT_GT(kills, 10);
  EXPECT_GT(ended, 1);  // kills between the last commit and the plain file among them
}

TEST_F(Steps, TheEndLeavesOnePlainFile) {
  write(record::RunState::kFinished);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path(), path());
  }
  const std::string bytes = base::read_file(path());
  EXPECT_EQ(bytes.substr(18, 2), "\x01\x01");  // of the form that needs no WAL, so no second file
}

TEST(Durability, AFullFileKeepsEveryEarlierBlock) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  record::RunRecord run = testing::random_run(13);
  std::size_t stored = 0;
  {
    RunFile file = testing::create_run(path, run, {.max_bytes = 512 << 10});
    file.begin_pass(run.passes[0]);
    record::Block block = run.passes[0].blocks[0];
    const base::Error error = refused([&] {
      for (;; ++stored) {
        block.id = static_cast<std::int64_t>(stored) + 1;
        for (std::size_t i = 0; i < block.slots.size(); ++i) {
          block.slots[i].id = block.id * 10 + static_cast<std::int64_t>(i);
        }
        file.commit_block(1, block, {}, {});
      }
    });
    EXPECT_EQ(error.code(), base::ErrorCode::kBroken);
    EXPECT_EQ(error.where(), path);
    EXPECT_THAT(error.message(), HasSubstr("full"));
  }
  ASSERT_GT(stored, 3U);
  EXPECT_EQ(blocks_in(read_run(path)), stored);
  // With room again the run goes on.
  RunFile file = RunFile::open_for_resume(path);
  file.finish(record::RunState::kStopped, "disk full", run.finished_utc);
  EXPECT_EQ(read_run(path).state, record::RunState::kStopped);
}

TEST(Durability, AFileSizeLimitOfTheSystemIsOneSentence) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(14);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 << 10, 64 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      testing::write_run(path, run);
    } catch (const base::Error& error) {
      ::_exit(error.code() == base::ErrorCode::kBroken && error.where() == path ? 7 : 8);
    }
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(std::filesystem::exists(path)) << "a file that could not be begun is half-written";
}

TEST(Durability, ALockedFileIsOneSentenceAndNothingIsLost) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(15);
  RunFile file = testing::create_run(path, run, {.busy_timeout_ms = 10});
  file.begin_pass(run.passes[0]);
  {
    Database other(path, Database::Mode::kWrite);
    other.execute("BEGIN IMMEDIATE");
    const base::Error error =
        refused([&] { file.commit_block(1, run.passes[0].blocks[0], {}, {}); });
    EXPECT_EQ(error.code(), base::ErrorCode::kBroken);
    EXPECT_THAT(error.message(), HasSubstr("locked"));
  }
  file.commit_block(1, run.passes[0].blocks[0], {}, {});  // the same block, once the lock is gone
  EXPECT_EQ(blocks_in(read_run(path)), 1U);               // while the run still goes on
}

TEST(Durability, ARefusedBlockLeavesNothingBehind) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(16);
  RunFile file = testing::create_run(path, run);
  file.begin_pass(run.passes[0]);
  record::Block block = run.passes[0].blocks[0];
  block.slots[3].id = block.slots[0].id;  // refused at its last slot
  EXPECT_THROW(file.commit_block(1, block, {}, {}), base::Error);
  block.slots[3].id = 777;
  file.commit_block(1, block, {}, {});
  record::Block unknown = run.passes[0].blocks[1];
  unknown.workload = "no such workload";
  EXPECT_THROW(file.commit_block(1, unknown, {}, {}), base::Error);
  EXPECT_THROW(file.commit_block(55, run.passes[0].blocks[1], {}, {}), base::Error);
  EXPECT_EQ(blocks_in(read_run(path)), 1U);
}

// A worker that died in its slot: the readings around it stay, the slot itself is not stored.
TEST(Durability, ReadingsOfASlotThatFailedAreKept) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(19);
  {
    RunFile file = testing::create_run(path, run);
    file.begin_pass(run.passes[0]);
    record::Block block = run.passes[0].blocks[0];
    block.slots.resize(1);
    block.failed = true;
    block.failure = "the worker died";
    file.commit_block(1, block, {{4242, 7, "after", "temperature", 51.5, "C", ""}}, {});
    file.finish(record::RunState::kBroken, "the worker died", run.finished_utc);
  }
  const record::RunRecord read = read_run(path);
  EXPECT_EQ(read.passes[0].blocks[0].failure, "the worker died");
  EXPECT_EQ(read.environment.back().slot, 4242);
}

TEST(Durability, AnExistingFileIsNeverReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(17);
  const std::string head = testing::write_run(path, run);
  EXPECT_EQ(refused([&] { RunFile::create(path, run, {}); }).code(), base::ErrorCode::kBroken);
  EXPECT_EQ(read_run(path).head_digest, head);
  EXPECT_THROW(RunFile::create(folder.file("absent/run.sqlite"), run, {}), base::Error);
}

TEST(Durability, ASecondWriterIsRefusedAndTheFirstGoesOn) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.sqlite");
  const record::RunRecord run = testing::random_run(18);
  {
    RunFile first = testing::create_run(path, run);
    try {
      RunFile::open_for_resume(path);
      FAIL() << "two writers at once";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::ErrorCode::kPreflight);
      EXPECT_NE(std::string(error.what()).find("still going"), std::string::npos);
    }
    first.begin_pass(run.passes[0]);
  }
  RunFile second = RunFile::open_for_resume(path);  // the first is gone, as after a crash
  second.supersede_pass(run.passes[0].id, "test");
}

}  // namespace
}  // namespace abba::store
