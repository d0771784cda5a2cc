#include "engine/cuda/geometry.h"

#include <gtest/gtest.h>

namespace abba::cuda {
namespace {

TEST(Geometry, WhatTheHardwareTakesEndsAtItsLimits) {
  EXPECT_TRUE(is_launchable({{kMostGridX, kMostGridYz, kMostGridYz}, {1024, 1, 1}}));
  EXPECT_FALSE(is_launchable({{kMostGridX + 1, 1, 1}, {32, 1, 1}}));
  EXPECT_FALSE(is_launchable({{1, kMostGridYz + 1, 1}, {32, 1, 1}}));
  EXPECT_FALSE(is_launchable({{1, 1, kMostGridYz + 1}, {32, 1, 1}}));
  EXPECT_FALSE(is_launchable({{0, 1, 1}, {32, 1, 1}}));
  EXPECT_FALSE(is_launchable({{1, 1, 1}, {0, 1, 1}}));
  EXPECT_TRUE(is_launchable({{1, 1, 1}, {32, 32, 1}}));
  EXPECT_FALSE(is_launchable({{1, 1, 1}, {32, 33, 1}}));
  EXPECT_FALSE(is_launchable({{1, 1, 1}, {1025, 1, 1}}));
  EXPECT_TRUE(is_launchable({{1, 1, 1}, {1, 1, 64}}));
  EXPECT_FALSE(is_launchable({{1, 1, 1}, {1, 1, 65}}));
}

TEST(Geometry, AnExtentOfZeroIsAnEmptyLaunch) {
  EXPECT_TRUE((Geometry{{0, 1, 1}, {32, 1, 1}}.is_empty()));
  EXPECT_TRUE((Geometry{{1, 0, 1}, {32, 1, 1}}.is_empty()));
  EXPECT_TRUE((Geometry{{1, 1, 0}, {32, 1, 1}}.is_empty()));
  EXPECT_FALSE((Geometry{{1, 1, 1}, {32, 1, 1}}.is_empty()));
}

TEST(Geometry, DivisionRoundsUp) {
  EXPECT_EQ(ceil_div(0, 8), 0);
  EXPECT_EQ(ceil_div(1, 8), 1);
  EXPECT_EQ(ceil_div(8, 8), 1);
  EXPECT_EQ(ceil_div(9, 8), 2);
}

}  // namespace
}  // namespace abba::cuda
