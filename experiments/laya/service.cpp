#include "experiments/laya/service.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace abba::laya {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHealth = "/health";
constexpr const char* kAsk = "/v1/systemone";

HttpReply detail(int status, std::string_view sentence) {
  return {status, runtime::detail_body(sentence)};
}

HttpReply busy() {
  HttpReply reply = detail(503, "server busy, try again later");
  reply.headers = {{"Retry-After", "1"}};
  return reply;
}

std::string path_of(const std::string& target) {
  return target.substr(0, target.find('?'));
}

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string two_decimals(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

// As long for a wrong key as for the right one.
bool same_bytes(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  }
  return difference == 0;
}

}  // namespace

DecisionService::DecisionService(ServiceOptions options, Executor& executor, Answer answer)
    : options_(std::move(options)), executor_(executor), answer_(std::move(answer)) {}

bool DecisionService::may_ask(const std::string& authorization) const {
  return options_.key.empty() || same_bytes(authorization, "Bearer " + options_.key);
}

std::optional<HttpReply> DecisionService::refuse(const HttpHead& head) {
  const std::string path = path_of(head.target);
  if (path != kHealth && path != kAsk) return detail(404, "Not Found");
  const char* method = path == kHealth ? "GET" : "POST";
  if (head.method != method) {
    HttpReply reply = detail(405, "Method Not Allowed");
    reply.headers = {{"Allow", method}};
    return reply;
  }
  if (path == kAsk && !may_ask(head.authorization)) {
    HttpReply reply = detail(401, "invalid or missing bearer token");
    reply.headers = {{"WWW-Authenticate", "Bearer"}};
    return reply;
  }
  return std::nullopt;
}

void DecisionService::handle(const HttpHead& head, std::string body, Done done) {
  if (path_of(head.target) == kHealth) return done(health(may_ask(head.authorization)));
  runtime::Request request;
  try {
    request = runtime::read_body(body, options_.limits, options_.model);
  } catch (const runtime::Refusal& refusal) {
    return done(detail(refusal.status(), refusal.what()));
  } catch (const std::bad_alloc&) {
    return done(busy());
  }
  submit(std::move(request), std::move(done));
}

// Whether it lives is for everybody, as in the original; what it is, for who may ask.
HttpReply DecisionService::health(bool in_full) const {
  const std::string failure = executor_.failure();
  const int status = failure.empty() ? 200 : 503;
  base::Json json = base::Json::object({{"status", failure.empty() ? "ok" : "failed"}});
  if (!in_full) return {status, json.dump()};
  base::Json loaded = base::Json::array();
  if (failure.empty()) loaded.push_back(options_.model);
  json.set("loaded", loaded);
  json.set("revisions", base::Json::object());
  json.set("device", options_.device);
  json.set("in_flight", std::uint64_t{executor_.in_flight()});
  return {status, json.dump()};
}

void DecisionService::submit(runtime::Request request, Done done) {
  const auto taken = Clock::now();
  const auto shared = std::make_shared<runtime::Request>(std::move(request));
  Executor::Job job;
  job.run = [this, shared, taken, done] { run(*shared, taken, done); };
  job.dismiss = [done](Executor::Dismissal why) {
    done(why == Executor::Dismissal::kLate ? busy() : detail(503, "the engine has stopped"));
  };
  job.deadline = taken + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(options_.timeout_s));
  switch (executor_.submit(std::move(job))) {
    case Executor::Submission::kTaken:
      return;
    case Executor::Submission::kBusy:
      return done(busy());
    case Executor::Submission::kStopped:
      return done(detail(503, "the engine has stopped"));
  }
}

void DecisionService::run(const runtime::Request& request, Executor::TimePoint taken,
                          const Done& done) {
  const auto begun = Clock::now();
  try {
    const runtime::Response response = answer_(request);
    const double inference_ms = milliseconds(Clock::now() - begun);
    const double wait_ms = milliseconds(begun - taken);
    HttpReply reply{200, runtime::reply_body(response, options_.model, options_.repo)};
    reply.headers = {{"Server-Timing", "inference;dur=" + two_decimals(inference_ms) +
                                           ", queue;dur=" + two_decimals(wait_ms)},
                     {"X-Inference-Time-Ms", two_decimals(inference_ms)}};
    reply.log = {{"queue_ms", wait_ms},
                 {"inference_ms", inference_ms},
                 {"rows", static_cast<double>(response.answered.size())},
                 {"tokens", static_cast<double>(response.input_tokens())}};
    done(std::move(reply));
  } catch (const runtime::Refusal& refusal) {
    done(detail(refusal.status(), refusal.what()));
  } catch (const std::bad_alloc&) {
    done(detail(500, "inference failed"));
  } catch (const base::Error& error) {
    const bool is_clients = error.code() == base::ErrorCode::kBadInput;
    done(is_clients ? detail(422, error.what()) : detail(500, "inference failed"));
    if (!is_clients) throw;
  } catch (...) {
    done(detail(500, "inference failed"));
    throw;
  }
}

}  // namespace abba::laya
