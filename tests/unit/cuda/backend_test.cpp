// A backend on a machine that has no GPU it can use says so in one sentence and touches nothing.
#include "engine/cuda/backend.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace abba::cuda {
namespace {

TEST(Backend, ADeviceThatIsNotThereIsRefusedWithTheReason) {
  try {
    const auto backend = make_backend({.device = 200, .visible_devices = "7"});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kPreflight);
    EXPECT_EQ(error.message(), find_device(200, "7").unavailable);
    EXPECT_NE(error.message(), "");
  }
}

}  // namespace
}  // namespace abba::cuda
