#include "engine/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace abba::base {
namespace {

TEST(Error, SaysWhereAndWhat) {
  const Error error(ErrorCode::kMismatch, "a.json", "has changed");
  EXPECT_STREQ(error.what(), "a.json: has changed");
  EXPECT_EQ(error.code(), ErrorCode::kMismatch);
  EXPECT_EQ(error.where(), "a.json");
  EXPECT_EQ(error.message(), "has changed");
}

TEST(Error, WithoutPlaceThereIsNoColon) {
  EXPECT_STREQ(Error(ErrorCode::kBroken, "", "disk full").what(), "disk full");
}

TEST(Error, ErrnoHasAText) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_NE(errno_text(ENOSPC), errno_text(ENOENT));
}

TEST(ErrorDeathTest, CheckAbortsAndNamesTheCondition) {
  const int two = 2;
  ABBA_CHECK(two == 2);
  EXPECT_DEATH(ABBA_CHECK(two == 3), "two == 3");
}

}  // namespace
}  // namespace abba::base
