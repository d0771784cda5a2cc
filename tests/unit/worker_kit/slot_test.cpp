// The timed loop: counts, order, spans, failures, injected effects, pacing, allocations.
#define ABBA_WORKER_COUNT_ALLOCATIONS
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/worker_kit/abba_worker.h"

namespace {

using abba_worker::Json;
using abba_worker::Session;
using abba_worker::Span;

// Spends a known time; what else it does is switched on by the tests.
struct Spinner : abba_worker::Worker {
  std::int64_t busy_ns = 20'000;
  bool allocate = false;
  bool open_inner = false;
  bool has_device = false;
  std::int64_t device_launch_ns = 20'000;  // what a spin costs on top of its length
  std::int64_t fail_at = -1;
  std::int64_t count = 0;
  std::vector<int> variants;
  std::unique_ptr<int> memory;

  abba_worker::Description describe() override {
    abba_worker::Description about{"spinner", "1"};
    about.boundaries = {{"outer"}, {"inner", "outer"}};
    about.metrics = {{"count", "requests", true}, {"unused", "s"}};
    return about;
  }
  abba_worker::Prepared prepare(const abba_worker::Workload&) override {
    variants.reserve(10'000);
    return {};
  }
  bool spins_on_device() override { return has_device; }
  void request() override {
    const std::int64_t start = abba_worker::now_ns();
    if (variants.size() < variants.capacity()) variants.push_back(variant());
    value("count", static_cast<double>(count));
    if (count++ == fail_at) throw std::runtime_error("device lost");
    if (allocate) memory = std::make_unique<int>(3);
    if (open_inner) {
      const Span inner(recorder(), "inner");
      const Span leaf(recorder(), "a leaf with a rather long name");
      abba_worker::spin_until(start + busy_ns);
    }
    abba_worker::spin_until(start + 2 * busy_ns);
    if (device_spin_ns() > 0) {
      abba_worker::spin_until(abba_worker::now_ns() + device_spin_ns() + device_launch_ns);
    }
  }
};

class SlotTest : public testing::Test {
 protected:
  void load(const std::string& inject) {
    const Json answer = Json::parse(session_.answer(R"({"type":"load","inject":)" + inject + "}"));
    ASSERT_EQ(answer["type"].text(), "load") << answer.dump();
  }
  Json slot(int warmup, int requests, const std::string& more = "") {
    if (!prepared_) {
      session_.answer(R"({"type":"prepare","workload":{"id":"w","rotate":)" +
                      std::to_string(rotate_) + "}}");
      prepared_ = true;
      worker_.count = 0;
      worker_.variants.clear();
    }
    return Json::parse(session_.answer(
        R"({"type":"slot","slot_id":"s-1","workload":"w","warmup":)" + std::to_string(warmup) +
        R"(,"requests":)" + std::to_string(requests) + more + "}"));
  }
  static std::vector<std::int64_t> integers(const Json& array) {
    std::vector<std::int64_t> values;
    for (const Json& item : array.items()) values.push_back(item.integer());
    return values;
  }
  static std::int64_t median(std::vector<std::int64_t> values) {
    std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
    return values[values.size() / 2];
  }
  std::int64_t median_duration(const std::string& inject) {
    load(inject);
    prepared_ = false;
    return median(integers(slot(2, 101)["duration_ns"]));
  }

  int rotate_ = 0;
  bool prepared_ = false;
  Spinner worker_;
  Session session_{worker_};
};

TEST_F(SlotTest, HasOneSamplePerRequestInOrder) {
  const Json answer = slot(3, 7);
  EXPECT_EQ(answer["slot_id"].text(), "s-1");
  EXPECT_EQ(answer["boundary"].text(), "outer");
  const auto starts = integers(answer["start_ns"]);
  const auto durations = integers(answer["duration_ns"]);
  ASSERT_EQ(starts.size(), 10U);
  ASSERT_EQ(durations.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_GE(durations[i], 2 * worker_.busy_ns);
    EXPECT_GE(starts[i], i == 0 ? 0 : starts[i - 1] + durations[i - 1]);
  }
  EXPECT_EQ(integers(answer["values"]["count"]),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(answer["values"]["unused"].is_null());
}

TEST_F(SlotTest, TheKitAllocatesNothingInTheTimedLoop) {
  worker_.busy_ns = 100;
  worker_.open_inner = true;
  EXPECT_EQ(slot(0, 2000)["allocations"].integer(-7), 0);
  EXPECT_EQ(slot(5, 2000)["allocations"].integer(-7), 0);
  worker_.allocate = true;  // the canary: one allocation a request is seen
  EXPECT_EQ(slot(5, 2000)["allocations"].integer(-7), 2000);
}

TEST_F(SlotTest, SpansLieWithinTheirParents) {
  worker_.open_inner = true;
  const Json answer = slot(2, 6, R"(,"max_spans":4)");
  const auto seq = integers(answer["spans"]["seq"]);
  EXPECT_EQ(seq, (std::vector<std::int64_t>{2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(answer["spans"]["name"].items()[0].text(), "inner");
  EXPECT_EQ(answer["spans"]["parent"].items()[0].text(), "outer");
  EXPECT_EQ(answer["spans"]["parent"].items()[1].text(), "inner");
  EXPECT_EQ(integers(answer["totals"]["count"]), (std::vector<std::int64_t>{6, 6}))
      << "totals are of all measured requests, the stored ones are bounded";
  EXPECT_EQ(answer["spans_dropped"].integer(-1), 0);
}

TEST_F(SlotTest, AnInnerBoundaryIsTimedByItsSpan) {
  worker_.open_inner = true;
  const Json answer = slot(1, 5, R"(,"boundaries":["inner"])");
  EXPECT_EQ(answer["boundary"].text(), "inner");
  EXPECT_TRUE(answer["failed"].items().empty());
  EXPECT_LT(median(integers(answer["duration_ns"])), 2 * worker_.busy_ns);
  EXPECT_EQ(answer["spans"]["parent"].items()[0].text(), "inner");
}

TEST_F(SlotTest, AnInnerBoundaryWithoutItsSpanIsNoSample) {
  const Json answer = slot(0, 3, R"(,"boundaries":["inner"])");
  EXPECT_EQ(integers(answer["failed"]), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_F(SlotTest, AFailedRequestStaysASampleAndIsMarked) {
  worker_.fail_at = 4;
  const Json answer = slot(2, 6);
  EXPECT_EQ(integers(answer["failed"]), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(answer["failure_text"].text(), "device lost");
  EXPECT_EQ(answer["duration_ns"].items().size(), 8U);
}

TEST_F(SlotTest, VariantsRotate) {
  rotate_ = 3;
  slot(1, 6);
  EXPECT_EQ(worker_.variants, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
}

TEST_F(SlotTest, InjectedEffectsAreInTheSamples) {
  const double none = static_cast<double>(median_duration("null"));
  EXPECT_NEAR(static_cast<double>(median_duration(R"({"kind":"spin","fraction":0.5})")), 1.5 * none,
              0.1 * none);
  EXPECT_NEAR(static_cast<double>(median_duration(R"({"kind":"delay","ns":40000})")), none + 40'000,
              0.1 * none);
  EXPECT_NEAR(static_cast<double>(median_duration(R"({"kind":"hidden","ns":40000})")), none,
              0.1 * none)
      << "a hidden delay is outside of the sample";
  EXPECT_GT(static_cast<double>(median_duration(R"({"kind":"drift","ns_per_request":1000})")),
            none + 40'000);
  worker_.open_inner = true;
  load(R"([{"kind":"delay","ns":50000}])");
  prepared_ = false;
  EXPECT_GT(median(integers(slot(1, 21, R"(,"boundaries":["inner"])")["duration_ns"])), 65'000)
      << "and in the span of an inner boundary";
}

TEST_F(SlotTest, AnEffectOfOnePositionComesInEverySecondSlot) {
  load(R"({"kind":"delay","ns":100000,"slots":[2,1]})");
  for (int i = 0; i < 4; ++i) {
    const std::int64_t duration = median(integers(slot(0, 11)["duration_ns"]));
    EXPECT_EQ(duration > 120'000, i % 2 == 1) << i << ": " << duration;
  }
}

TEST_F(SlotTest, AnEffectOfAPlaceInTheBlockFollowsTheSlotId) {
  load(R"({"kind":"delay","ns":100000,"position":2})");
  const auto duration = [this](const char* id) {
    slot(0, 1);  // prepared
    const Json answer = Json::parse(session_.answer(
        std::string(R"({"type":"slot","workload":"w","warmup":0,"requests":11,"slot_id":")") + id +
        "\"}"));
    EXPECT_EQ(answer["slot_id"].text(), id);
    return median(integers(answer["duration_ns"]));
  };
  EXPECT_GT(duration("17/s2"), 120'000);
  EXPECT_LT(duration("18/s3"), 120'000);
  EXPECT_LT(duration("2"), 120'000) << "an id without a place has no such effect";
  EXPECT_LT(duration("19/s2x"), 120'000);
  EXPECT_LT(duration("20/s"), 120'000);
}

// The worker's spin stands for a device's: it costs a launch on top of its length, which the kit
// must find out and take off.
TEST_F(SlotTest, ASpinOnTheDeviceIsAsLongAsAskedFor) {
  worker_.has_device = true;
  worker_.busy_ns = 100'000;
  const auto median_of = [this](const std::string& inject) {
    load(inject);
    prepared_ = false;
    return static_cast<double>(median(integers(slot(2, 61)["duration_ns"])));
  };
  const double none = median_of("null");
  EXPECT_NEAR(median_of(R"({"kind":"spin","fraction":0.5,"where":"device"})") / none, 1.5, 0.1);
  EXPECT_NEAR(median_of(R"({"kind":"spin","fraction":0.5,"where":"host"})") / none, 1.5, 0.1);
}

TEST_F(SlotTest, AWorkerWithoutADeviceRefusesToSpinThere) {
  const auto answer = [this](const char* inject) {
    return session_.answer(std::string(R"({"type":"load","inject":)") + inject + "}");
  };
  EXPECT_NE(answer(R"({"kind":"spin","fraction":0.5,"where":"device"})").find("bad_inject"),
            std::string::npos);
  worker_.has_device = true;
  EXPECT_EQ(answer(R"({"kind":"spin","fraction":0.5,"where":"device"})").find("error"),
            std::string::npos);
  EXPECT_NE(answer(R"({"kind":"delay","ns":5,"where":"device"})").find("bad_inject"),
            std::string::npos);
}

TEST_F(SlotTest, PacedRequestsStartWhenTheyAreDue) {
  const std::int64_t before = abba_worker::now_ns();
  const Json answer = slot(1, 5, R"(,"interval_ms":2)");
  const auto starts = integers(answer["start_ns"]);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_GE(starts[i], before + static_cast<std::int64_t>(i) * 2'000'000) << "never early";
  }
}

TEST_F(SlotTest, AnUndeclaredMetricFailsTheRequest) {
  struct Wrong : abba_worker::Worker {
    abba_worker::Prepared prepare(const abba_worker::Workload&) override { return {}; }
    void request() override { value("tokens", 3); }
  } wrong;
  Session session(wrong);
  session.answer(R"({"type":"prepare","workload":{"id":"w"}})");
  const Json answer =
      Json::parse(session.answer(R"({"type":"slot","slot_id":"s","workload":"w","requests":2})"));
  EXPECT_EQ(answer["failed"].items().size(), 2U);
}

}  // namespace
