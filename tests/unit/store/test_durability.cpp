#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/error.h"
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
