// A bundle's archive: the same bytes twice, read back whole, and nothing else accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "harness/store/archive.h"

namespace abba::store {
namespace {

using ::testing::HasSubstr;

const std::vector<ArchiveEntry> kEntries = {
    {"bundle.json", "{}\n"}, {"ledger/a.json", std::string("a\0b", 3)}, {"empty", ""}};

std::string refusal(std::string_view bytes, const ArchiveLimits& limits = {}) {
  try {
    read_archive(bytes, "x.zip", limits);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
    return error.message();
  }
  return "";
}

// An archive with `change` made to its bytes.
std::string changed(const std::function<void(std::string&)>& change) {
  std::string bytes = write_archive(kEntries);
  change(bytes);
  return bytes;
}

std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (std::size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, from.size(), to);
  }
  return bytes;
}

TEST(Archive, TheSameEntriesGiveTheSameBytesAndComeBack) {
  const std::string bytes = write_archive(kEntries);
  EXPECT_EQ(bytes, write_archive(kEntries));
  // Whatever library writes it: a bundle of today must verify tomorrow.
  EXPECT_EQ(base::sha256_hex(bytes).substr(0, 16), "00a08b33da76bedb");
  const auto entries = read_archive(bytes, "x.zip");
  ASSERT_EQ(entries.size(), kEntries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].name, kEntries[i].name);
    EXPECT_EQ(entries[i].bytes, kEntries[i].bytes);
  }
}

TEST(Archive, NamesStayBelowOneFolder) {
  for (const char* name : {"../x", "/etc/x", "a//b", "a/", "", "a/../b", ".hidden", "a\\b", "a b",
                           "C:x", "a/./b", "\xC3\xA9"}) {
    EXPECT_THROW(write_archive({{name, "x"}}), base::Error) << name;
  }
  EXPECT_THROW(write_archive({{"a", "1"}, {"a", "2"}}), base::Error);
  const std::string good = write_archive({{"ab/cd", "x"}});
  EXPECT_EQ(refusal(good), "");
  EXPECT_THAT(refusal(replaced(good, "ab/cd", "../cd")), HasSubstr("name that is not allowed"));
  EXPECT_THAT(refusal(replaced(good, "ab/cd", "/b/cd")), HasSubstr("name that is not allowed"));
}

TEST(Archive, SizesAndCountsAreBounded) {
  const std::string bytes = write_archive(kEntries);
  EXPECT_THAT(refusal(bytes, {.max_entries = 2}), HasSubstr("more entries"));
  EXPECT_THAT(refusal(bytes, {.max_bytes = 100}), HasSubstr("larger than"));
}

TEST(Archive, WhatClaimsToBeLargerThanTheArchiveIsNotRead) {
  // Both headers' size fields of the first entry: 3 bytes of content.
  const std::string bytes = changed([](std::string& all) {
    const std::string three("\x03\0\0\0\x03\0\0\0", 8);
    all = replaced(all, three, std::string("\xff\xff\xff\x0f\xff\xff\xff\x0f", 8));
  });
  EXPECT_THAT(refusal(bytes), HasSubstr("more bytes than"));
}

TEST(Archive, EveryOtherByteIsRefused) {
  const std::string good = write_archive(kEntries);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int mask : {1, 8, 128}) {  // a bit changes a CRC, a field, or one of a name's copies
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      EXPECT_NE(refusal(bytes), "") << at << " " << mask;
    }
  }
  for (const std::string& other :
       {good + "x", "x" + good, good + good, good.substr(0, good.size() - 1), good.substr(1)}) {
    EXPECT_NE(refusal(other), "") << other.size();
  }
  EXPECT_THAT(refusal("no archive at all"), HasSubstr("no zip archive"));
}

}  // namespace
}  // namespace abba::store
