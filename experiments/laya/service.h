// The decision service over HTTP: POST /v1/systemone and GET /health with the paths, statuses and
// sentences of the original, in front of an executor that owns the engine. It knows requests and
// replies, not the model: `answer` is whatever turns one into the other.
#pragma once

#include <functional>
#include <string>

#include "engine/runtime/wire.h"
#include "experiments/laya/executor.h"
#include "experiments/laya/http_server.h"

namespace abba::laya {

struct ServiceOptions {
  std::string key;    // bearer key, or empty: everybody may ask
  std::string model;  // published name of the checkpoint, as `routing` and /health show it
  std::string repo;   // where it came from
  std::string device = "cpu";
  double timeout_s = 30;  // a request that waits longer for the engine is told so
  runtime::WireLimits limits;
};

class DecisionService : public HttpHandler {
 public:
  // Runs on the executor's thread. Error(kBadInput) is the client's mistake (422); std::bad_alloc
  // fails the one request (500); anything else stops the executor (500, then 503 and /health 503).
  using Answer = std::function<runtime::Response(const runtime::Request&)>;

  // `executor` must outlive the service.
  DecisionService(ServiceOptions options, Executor& executor, Answer answer);

  std::optional<HttpReply> refuse(const HttpHead& head) override;
  void handle(const HttpHead& head, std::string body, std::function<void(HttpReply)> done) override;

 private:
  using Done = std::function<void(HttpReply)>;
  [[nodiscard]] HttpReply health(bool in_full) const;
  [[nodiscard]] bool may_ask(const std::string& authorization) const;
  void submit(runtime::Request request, Done done);
  void run(const runtime::Request& request, Executor::TimePoint taken, const Done& done);

  ServiceOptions options_;
  Executor& executor_;
  Answer answer_;
};

}  // namespace abba::laya
