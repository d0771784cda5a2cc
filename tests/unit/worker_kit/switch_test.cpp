// What a slot may ask for beyond its requests: hot factors and cold caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "harness/worker_kit/abba_worker.h"

namespace {

using abba_worker::FlushCheck;
using abba_worker::HostCaches;
using abba_worker::Json;
using abba_worker::Session;

struct Switched : abba_worker::Worker {
  int switches = 0;
  int flushes = 0;
  bool can_flush = true;
  float answer = 0;
  std::set<std::string> named;

  abba_worker::Description describe() override {
    abba_worker::Description about{"switched", "1"};
    about.factors = {{"pace", {{"slow"}, {"quick"}}, "", true}, {"loop", {{"plain"}, {"fast"}}}};
    about.stages = {"answer"};
    about.flushes = can_flush;
    return about;
  }
  void load(const abba_worker::LoadRequest& request, abba_worker::LoadReply&) override {
    named = request.named;
  }
  abba_worker::Prepared prepare(const abba_worker::Workload&) override {
    expose("answer", {1}, &answer);
    return {};
  }
  void request() override { answer = level("pace") == "quick" ? 2 : 1; }
  void switched() override { ++switches; }
  void flush_caches() override {
    ++flushes;
    abba_worker::spin_until(abba_worker::now_ns() + 2'000'000);
  }
  FlushCheck check_flush() override { return {"none", 1, 1, 2}; }
};

class SwitchTest : public testing::Test {
 protected:
  Json ask(const std::string& line) { return Json::parse(session_.answer(line)); }
  Json slot(const std::string& more) {
    ask(R"({"type":"prepare","workload":{"id":"w","input":null}})");
    return ask(R"({"type":"slot","slot_id":"s","workload":"w","warmup":1,"requests":2)" + more +
               "}");
  }
  Switched worker_;
  Session session_{worker_};
};

TEST_F(SwitchTest, AHotFactorChangesBetweenTwoSlotsAndIsRepeated) {
  const std::string slow = slot("")["digest"].text();
  const Json quick = slot(R"(,"factors":{"pace":"quick"})");
  EXPECT_EQ(quick["factors"].dump(), R"({"pace":"quick"})");
  EXPECT_NE(quick["digest"].text(), slow);
  EXPECT_EQ(worker_.switches, 1);
  EXPECT_EQ(slot(R"(,"factors":{"pace":"quick"})")["digest"].text(), quick["digest"].text());
  EXPECT_EQ(worker_.switches, 1) << "nothing changed";
  const Json outputs =
      ask(R"({"type":"outputs","workload":"w","stages":[],"factors":{"pace":"slow"}})");
  EXPECT_EQ(outputs["tensors"].items().at(0)["digest"].text(), slow);
  EXPECT_EQ(outputs["factors"].dump(), R"({"pace":"slow"})");
  EXPECT_TRUE(slot("")["factors"].is_null()) << "nothing was asked for";
}

TEST_F(SwitchTest, WhatIsNotHotOrNotThereIsRefused) {
  EXPECT_EQ(slot(R"(,"factors":{"loop":"fast"})")["error"]["code"].text(), "not_hot");
  EXPECT_EQ(slot(R"(,"factors":{"pace":"fast"})")["error"]["code"].text(), "unknown_level");
  EXPECT_EQ(slot(R"(,"factors":{"step":"fast"})")["error"]["code"].text(), "unknown_factor");
  EXPECT_EQ(worker_.switches, 0);
}

TEST_F(SwitchTest, IfOneFactorIsRefusedNoneIsSwitched) {
  EXPECT_EQ(slot(R"(,"factors":{"pace":"quick","loop":"fast"})")["error"]["code"].text(),
            "not_hot");
  EXPECT_EQ(worker_.switches, 0);
  EXPECT_EQ(worker_.level("pace"), "slow");
}

TEST_F(SwitchTest, AWorkerSeesWhichFactorsWereNamed) {
  ask(R"({"type":"load"})");
  EXPECT_TRUE(worker_.named.empty()) << "defaults are filled in, not named";
  ask(R"({"type":"load","factors":{"loop":"plain"}})");
  EXPECT_EQ(worker_.named, std::set<std::string>{"loop"});
}

TEST_F(SwitchTest, CachesAreFlushedBeforeEveryRequestAndOutsideItsTime) {
  const Json cold = slot(R"(,"flush":true)");
  EXPECT_EQ(worker_.flushes, 3);
  EXPECT_EQ(cold["flush"].dump(), R"({"cache":"none","bytes":1,"warm_ns":1,"cold_ns":2})");
  for (const Json& duration : cold["duration_ns"].items()) EXPECT_LT(duration.integer(), 1'000'000);
  EXPECT_TRUE(slot("")["flush"].is_null());
  EXPECT_EQ(worker_.flushes, 3);
}

TEST(SwitchTestAlone, AWorkerThatCannotFlushSaysSo) {
  Switched worker;
  worker.can_flush = false;
  Session session(worker);
  const Json hello = Json::parse(session.hello());
  for (const Json& capability : hello["capabilities"].items()) {
    EXPECT_NE(capability.text(), "flush");
  }
  session.answer(R"({"type":"prepare","workload":{"id":"w"}})");
  const Json refused = Json::parse(
      session.answer(R"({"type":"slot","slot_id":"s","workload":"w","requests":1,"flush":true})"));
  EXPECT_EQ(refused["error"]["code"].text(), "unsupported");
}

// Of several tries, since on a busy machine the warm walk may be interrupted.
TEST(HostCachesTest, AWalkAfterAFlushGoesToMemory) {
  HostCaches caches;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const FlushCheck check = caches.check([&] { caches.flush(); });
    EXPECT_GT(check.warm_ns, 0);
    best = std::max(best, check.cold_ns / check.warm_ns);
  }
  EXPECT_GE(best, 1.5);
  const FlushCheck warm = caches.check([] {});
  EXPECT_LT(warm.cold_ns, best * warm.warm_ns) << "without a flush it is not as cold";
}

}  // namespace
