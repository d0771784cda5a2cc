// Reading a run file where nothing may be written beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "harness/record/names.h"
#include "harness/store/run_file.h"
#include "tests/unit/store/random_run.h"
#include "tests/unit/temporary_folder.h"

namespace abba::store {
namespace {

using ::testing::HasSubstr;

// Runs `look` in a child process that may not write the folder (root may write any, so it becomes
// another user) and returns what it said; "" if it could not be told.
std::string told_without_writing(const std::filesystem::path& folder,
                                 const std::function<std::string()>& look) {
  namespace fs = std::filesystem;
  const auto read_only = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                         fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec;
  int ends[2];
  if (::pipe(ends) != 0) return "";
  fs::permissions(folder, read_only);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::getuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
    std::string said;
    try {
      said = look();
    } catch (const base::Error& error) {
      said = error.what();
    }
    ::_exit(::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0
                                                                                            : 1);
  }
  ::close(ends[1]);
  std::string told(4096, '\0');
  const ssize_t size = ::read(ends[0], told.data(), told.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  fs::permissions(folder, fs::perms::owner_all);
  told.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return told;
}

class ReadOnlyFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("run.sqlite"); }
  // As a kill leaves it that comes after the WAL is gone and before the header is written.
  void leave_the_header_behind() {
    testing::write_run(path(), run_);
    std::string bytes = base::read_file(path());
    bytes[18] = bytes[19] = 2;
    folder_.write("run.sqlite", bytes);
  }
  [[nodiscard]] std::string told() const {
    return told_without_writing(folder_.path(), [this] {
      const record::RunRecord run = read_run(path());
      std::size_t blocks = 0;
      for (const record::Pass& pass : run.passes) blocks += pass.blocks.size();
      return std::string(record::name(run.state)) + " " + std::to_string(blocks);
    });
  }
  // Two blocks are committed, and stand in the journal alone.
  void kill_after_two_blocks() {
    const pid_t child = ::fork();
    if (child == 0) {
      RunFile file = testing::create_run(path(), run_);
      file.begin_pass(run_.passes[0]);
      for (std::size_t i = 0; i < 2; ++i) {
        file.commit_block(run_.passes[0].id, run_.passes[0].blocks[i], {}, {});
      }
      ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
  }

  TemporaryFolder folder_;
  record::RunRecord run_ = testing::random_run(21);
};

TEST_F(ReadOnlyFolder, ARunKilledBeforeItsHeaderWasPlainIsReadWhole) {
  leave_the_header_behind();
  std::size_t blocks = 0;
  for (const record::Pass& pass : run_.passes) blocks += pass.blocks.size();
  EXPECT_EQ(told(), "finished " + std::to_string(blocks));
  folder_.write("run.sqlite-wal", "");  // an empty journal has nothing to play back
  EXPECT_EQ(told(), "finished " + std::to_string(blocks));
  EXPECT_EQ(folder_.entry_count(), 2);
}

TEST_F(ReadOnlyFolder, AJournalThatCannotBePlayedBackIsSaid) {
  leave_the_header_behind();
  folder_.write("run.sqlite-wal", "some commits");
  EXPECT_THAT(told(), HasSubstr("cannot be played back"));
  EXPECT_THAT(told(), HasSubstr("copy both files"));
}

// With its index the journal is played back in memory; the last commits are not lost.
TEST_F(ReadOnlyFolder, ARunThatWasKilledIsReadWithItsJournal) {
  kill_after_two_blocks();
  EXPECT_GT(std::filesystem::file_size(path() + "-wal"), 0U);
  EXPECT_EQ(told(), "running 2");
}

}  // namespace
}  // namespace abba::store
