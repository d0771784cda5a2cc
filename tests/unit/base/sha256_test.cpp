#include "engine/base/sha256.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "engine/base/error.h"

namespace abba::base {
namespace {

// FIPS 180-4 example vectors.
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kMillion = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_hex(""), kEmpty);
  EXPECT_EQ(sha256_hex("abc"), kAbc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), kMillion);
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.hex_digest(), kMillion);
}

TEST(Sha256, CanaryOneByteChangesTheDigest) {
  EXPECT_NE(sha256_hex("abd"), kAbc);
}

TEST(Sha256, FilesAreReadInPieces) {
  const std::string path = ::testing::TempDir() + "abba_sha256_test";
  std::ofstream(path, std::ios::binary) << std::string(1000000, 'a');
  EXPECT_EQ(sha256_file(path), kMillion);
  std::ofstream(path, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(sha256_file(path), kEmpty);
  std::remove(path.c_str());
}

TEST(Sha256, AMissingFileIsNamed) {
  try {
    (void)sha256_file("/nonexistent/abba");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/abba"), std::string::npos);
  }
}

}  // namespace
// A named pipe would be waited for, /dev/zero read for ever.
TEST(Sha256, RefusesWhatIsNoRegularFile) {
  for (const char* path : {"/dev/zero", "/tmp"}) {
    try {
      (void)sha256_file(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("is no regular file"), std::string::npos);
    }
  }
}

}  // namespace abba::base
