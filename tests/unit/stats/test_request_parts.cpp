// What lies inside a request: means from totals, nested as the worker nested them, with the rest.
#include <gtest/gtest.h>

#include "harness/stats/measured.h"
#include "harness/stats/request_parts.h"
#include "tests/unit/stats/synthetic_run.h"

namespace abba::stats {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;  // name, owner; span totals

// Every slot of the run says that half of its requests' time is "outer", and half of that "inner".
record::RunRecord run_with_spans(const Parts& parts) {
  record::RunRecord run = synthetic::Maker(synthetic::Spec{}).run();
  for (record::Pass& pass : run.passes) {
    for (record::Block& block : pass.blocks) {
      block.boundary = "whole";
      for (record::Slot& slot : block.slots) {
        std::int64_t total = 0;
        for (const record::Sample& sample : slot.samples) {
          total += sample.warmup ? 0 : sample.duration_ns;
        }
        for (const auto& [name, owner] : parts) {
          total /= 2;
          slot.spans.push_back({-1, name, owner, 0, total, 1});
        }
      }
    }
  }
  return run;
}

TEST(RequestParts, NestWithTheirRestAndAddUp) {
  const auto run = run_with_spans({{"outer", "whole"}, {"inner", "outer"}});
  const auto parts = request_parts(counted_passes(run), "small");
  ASSERT_EQ(parts.size(), 5U);
  const Parts expected = {
      {"whole", ""}, {"outer", "whole"}, {"inner", "outer"}, {"", "outer"}, {"", "whole"}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(parts[i].name, expected[i].first);
    EXPECT_EQ(parts[i].owner, expected[i].second);
  }
  EXPECT_GT(parts[0].a_ns, 0);
  EXPECT_NEAR(parts[1].a_ns, parts[0].a_ns / 2, 1);
  EXPECT_NEAR(parts[2].b_ns, parts[0].b_ns / 4, 1);
  EXPECT_NEAR(parts[1].a_ns + parts[4].a_ns, parts[0].a_ns, 1e-6);
  EXPECT_NEAR(parts[2].a_ns + parts[3].a_ns, parts[1].a_ns, 1e-6);
}

TEST(RequestParts, WithoutSpansOrPassesThereAreNone) {
  const auto run = run_with_spans({});
  EXPECT_TRUE(request_parts(counted_passes(run), "small").empty());
  EXPECT_TRUE(request_parts({}, "small").empty());
}

// A run file from elsewhere may name anything as anything's parent.
TEST(RequestParts, NamesThatContainEachOtherEnd) {
  const auto run = run_with_spans({{"a", "whole"}, {"b", "a"}, {"a", "b"}, {"whole", "whole"}});
  EXPECT_LT(request_parts(counted_passes(run), "small").size(), 2000U);
  Parts all;
  for (const char* name : {"whole", "a", "b", "c", "d", "e", "f", "g"}) {
    for (const char* owner : {"whole", "a", "b", "c", "d", "e", "f", "g"}) {
      all.emplace_back(name, owner);
    }
  }
  const auto tangled = run_with_spans(all);
  EXPECT_LT(request_parts(counted_passes(tangled), "small").size(), 2000U);
}

TEST(RequestParts, ASlotWithFailedRequestsDoesNotCount) {
  auto run = run_with_spans({{"outer", "whole"}});
  const double before = request_parts(counted_passes(run), "small")[1].a_ns;
  for (record::Block& block : run.passes.front().blocks) {
    for (record::Slot& slot : block.slots) {
      if (slot.arm != "A") continue;
      slot.failures = 1;
      for (record::Span& span : slot.spans) span.duration_ns *= 1000;
    }
  }
  EXPECT_NEAR(request_parts(counted_passes(run), "small")[1].a_ns, before, before * 0.5);
}

}  // namespace
}  // namespace abba::stats
