// The executor and the service in front of a pretended engine: what a full queue, a late request, a
// client's mistake, no memory and a broken engine answer, and what each leaves behind.
#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <new>

#include "engine/base/error.h"
#include "experiments/laya/http_client.h"
#include "experiments/laya/service.h"

namespace abba::laya {
namespace {

constexpr const char* kBody =
    R"({"state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}})";

HttpReply asked(DecisionService& service, const std::string& body = kBody) {
  std::promise<HttpReply> promise;
  service.handle({"POST", "/v1/systemone", ""}, body,
                 [&](HttpReply reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

HttpReply health(DecisionService& service) {
  std::promise<HttpReply> promise;
  service.handle({"GET", "/health", ""}, "",
                 [&](HttpReply reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

ServiceOptions options() {
  return {.model = "none", .repo = "none"};
}

TEST(Service, AClientsMistakeAndNoMemoryFailOneRequestOnly) {
  Executor executor(4);
  int count = 0;
  DecisionService service(options(), executor, [&](const runtime::Request&) {
    if (++count == 1) throw base::Error(base::ErrorCode::kBadInput, "question \"q\"", "is odd");
    if (count == 2) throw std::bad_alloc();
    return runtime::Response{};
  });
  const HttpReply odd = asked(service);
  EXPECT_EQ(odd.status, 422);
  EXPECT_EQ(odd.body, R"({"detail":"question \"q\": is odd"})");
  EXPECT_EQ(asked(service).status, 500);
  EXPECT_EQ(asked(service).status, 200);
  EXPECT_EQ(health(service).status, 200);
}

TEST(Service, ABrokenEngineStopsTheExecutorForGood) {
  Executor executor(4);
  int count = 0;
  DecisionService service(options(), executor, [&](const runtime::Request&) -> runtime::Response {
    ++count;
    throw base::Error(base::ErrorCode::kBroken, "gpu 0", "a secret path fell off the bus");
  });
  const HttpReply first = asked(service);
  EXPECT_EQ(first.status, 500);
  EXPECT_EQ(first.body, R"({"detail":"inference failed"})");  // nothing of the cause leaks
  while (executor.failure().empty()) std::this_thread::yield();
  EXPECT_NE(executor.failure().find("fell off the bus"), std::string::npos);
  EXPECT_EQ(asked(service).status, 503);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(health(service).status, 503);
  EXPECT_NE(health(service).body.find(R"("status":"failed")"), std::string::npos);
}

// One request runs until it is let go; one may wait; the next is turned away at once. The one that
// waited too long is not run.
TEST(Service, TheQueueIsBoundedAndALateRequestIsNotRun) {
  Executor executor(2);
  std::promise<void> entered;
  std::promise<void> let_go;
  int count = 0;
  ServiceOptions impatient = options();
  impatient.timeout_s = 0.05;
  DecisionService service(impatient, executor, [&](const runtime::Request&) {
    if (++count == 1) {
      entered.set_value();
      let_go.get_future().wait();
    }
    return runtime::Response{};
  });
  std::promise<HttpReply> first;
  std::promise<HttpReply> second;
  const HttpHead head{"POST", "/v1/systemone", ""};
  service.handle(head, kBody, [&](HttpReply reply) { first.set_value(std::move(reply)); });
  entered.get_future().wait();
  service.handle(head, kBody, [&](HttpReply reply) { second.set_value(std::move(reply)); });
  EXPECT_EQ(executor.in_flight(), 2U);
  EXPECT_EQ(asked(service).status, 503);
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  let_go.set_value();
  EXPECT_EQ(first.get_future().get().status, 200);
  EXPECT_EQ(second.get_future().get().status, 503);
  EXPECT_EQ(count, 1);
}

TEST(Service, FinishingRunsWhatWaits) {
  Executor executor(64);
  std::atomic<int> ran = 0;
  const auto never = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (int i = 0; i < 50; ++i) {
    executor.submit({[&] { ++ran; }, [](Executor::Dismissal) { FAIL(); }, never});
  }
  executor.finish();
  EXPECT_EQ(ran, 50);
  EXPECT_EQ(executor.submit({[] {}, nullptr, never}), Executor::Submission::kStopped);
}

// The server behind a real socket: a reply that comes late keeps the connection, and a drain waits
// for it although nothing else is pending.
TEST(Service, ADrainWaitsForAReplyThatIsBeingMade) {
  Executor executor(4);
  std::promise<void> entered;
  DecisionService service(options(), executor, [&](const runtime::Request&) {
    entered.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return runtime::Response{};
  });
  HttpServer server({}, service);
  std::future<int> status = std::async(std::launch::async, [&] {
    HttpClient client(server.port());
    return client.post("/v1/systemone", kBody).status;
  });
  entered.get_future().wait();
  EXPECT_TRUE(server.drain(20));
  EXPECT_EQ(status.get(), 200);
  EXPECT_THROW(HttpClient(server.port()), base::Error);
}

// A worker's own connection lies idle while another arm is measured; a stranger's is let go.
TEST(Service, AnIdleConnectionIsLetGoUnlessItMayLieForEver) {
  Executor executor(4);
  DecisionService service(options(), executor,
                          [](const runtime::Request&) { return runtime::Response{}; });
  HttpServer brief({.idle_timeout_s = 0.1}, service);
  HttpServer patient({.idle_timeout_s = std::numeric_limits<double>::infinity()}, service);
  HttpClient to_brief(brief.port());
  HttpClient to_patient(patient.port());
  EXPECT_EQ(to_patient.post("/v1/systemone", kBody).status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_THROW(to_brief.post("/v1/systemone", kBody), base::Error);
  EXPECT_EQ(to_patient.post("/v1/systemone", kBody).status, 200);
}

}  // namespace
}  // namespace abba::laya
