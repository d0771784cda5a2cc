// What a worker's hello says it can do.
#include "harness/record/worker.h"

#include <gtest/gtest.h>

namespace abba::record {
namespace {

TEST(Hello, DeclaresWhatItNamesAndNothingNear) {
  WorkerHello hello;
  hello.capabilities = {"load", "outputs"};
  EXPECT_TRUE(hello.declares("load"));
  EXPECT_TRUE(hello.declares("outputs"));
  EXPECT_FALSE(hello.declares("output"));
  EXPECT_FALSE(hello.declares("flush"));
  EXPECT_FALSE(hello.declares(""));
}

TEST(Hello, FindsAFactorByItsWholeName) {
  WorkerHello hello;
  hello.factors.resize(2);
  hello.factors[0].name = "rope";
  hello.factors[1].name = "bias";
  hello.factors[1].hot = true;
  ASSERT_NE(hello.factor("bias"), nullptr);
  EXPECT_TRUE(hello.factor("bias")->hot);
  EXPECT_EQ(hello.factor("bia"), nullptr);
  EXPECT_EQ(hello.factor("bias "), nullptr);
}

}  // namespace
}  // namespace abba::record
