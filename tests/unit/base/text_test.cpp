#include "engine/base/text.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "engine/base/error.h"

namespace abba::base {
namespace {

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "abba_text_" + name;
}

TEST(Text, SplitAndJoinAreInverse) {
  const std::vector<std::string> parts = {"a", "", "b", ""};
  EXPECT_EQ(split("a,,b,", ','), parts);
  EXPECT_EQ(join(parts, ","), "a,,b,");
  EXPECT_EQ(join({}, ","), "");
}

TEST(Text, TrimTakesWhitespaceFromBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("pases", "passes"), 1U);
  EXPECT_EQ(edit_distance("ab", "ba"), 2U);
  EXPECT_GT(edit_distance("a", "aaaaaaaa", 3), 3U);
}

TEST(Text, UtcText) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(951782399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(utc_text(951782400), "2000-02-29T00:00:00Z");
}

TEST(Text, FilesComeBackAsWritten) {
  const std::string path = temporary("bytes");
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file_atomically(path, bytes);
  EXPECT_EQ(read_file(path), bytes);
  write_file_atomically(path, "other");
  EXPECT_EQ(read_file(path), "other");
  EXPECT_THROW(read_file(path, 4), Error);
  EXPECT_EQ(read_file(path, 5), "other");
  std::remove(path.c_str());
}

TEST(Text, LinesAreAddedWholeToWhatStandsThere) {
  const std::string path = temporary("lines");
  std::remove(path.c_str());
  append_line(path, "one\n");
  append_line(path, "two\n");
  EXPECT_EQ(read_file(path), "one\ntwo\n");
  EXPECT_THROW(append_line(path + "/below", "x\n"), Error);
  std::remove(path.c_str());
}

// The file's limit is reached in the middle of the line, as a full disk would be.
TEST(Text, HalfALineIsTakenBack) {
  const std::string path = temporary("half");
  write_file_atomically(path, std::string(90, 'x') + "\n");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  const rlimit limited{100, unlimited.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limited);
  EXPECT_THROW(append_line(path, std::string(50, 'y') + "\n"), Error);
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(read_file(path), std::string(90, 'x') + "\n");
  std::remove(path.c_str());
}

TEST(Text, AWriteThatFailsLeavesNothing) {
  const std::string folder = temporary("folder");
  std::filesystem::create_directories(folder + "/target/inside");
  EXPECT_THROW(write_file_atomically(folder + "/target", "x"), Error);
  EXPECT_THROW(write_file_atomically(folder + "/missing/file", "x"), Error);
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().filename(), "target");
    ++entries;
  }
  EXPECT_EQ(entries, 1);
  std::filesystem::remove_all(folder);
}

TEST(Text, AMissingFileIsNamed) {
  try {
    (void)read_file("/nonexistent/abba");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/abba"), std::string::npos);
  }
}

}  // namespace
}  // namespace abba::base
