// A text request as a workload of the worker: answered in process (boundary `engine`) or over a
// loopback connection to a server in this process (boundary `http`), by one runtime.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/base/json.h"
#include "engine/runtime/runtime.h"
#include "experiments/laya/http_client.h"
#include "experiments/laya/service.h"
#include "harness/worker_kit/abba_worker.h"

namespace abba::laya {

inline constexpr const char* kHttpBoundary = "http";  // first byte sent to reply parsed
inline constexpr const char* kEngineBoundary = runtime::kEngine;

// What `serve` runs, inside this process and with one client: the same executor, service and
// server on a free port of loopback.
class LoopbackService {
 public:
  explicit LoopbackService(runtime::Runtime& runtime);

  // Sends `body`, waits for the reply and parses it. Throws Error(kBroken) for any status but 200.
  void ask(const std::string& body);

  // Of the last request; empty before it.
  [[nodiscard]] runtime::Response take_response();
  // Spans of the last request, as the server's thread took them.
  [[nodiscard]] std::vector<runtime::SpanRecord> spans() const;

 private:
  runtime::Response answer(const runtime::Request& request);

  runtime::Runtime& runtime_;
  mutable std::mutex mutex_;  // of the two below, written by the executor's thread
  runtime::SpanLog log_;
  runtime::Response response_;
  Executor executor_;
  DecisionService service_;
  HttpServer server_;
  std::optional<HttpClient> client_;
};

class TextWorkload {
 public:
  // `body` is the request as a client sends it: {"state", "questions"}. Throws Error(kBadInput).
  TextWorkload(runtime::Runtime& runtime, std::string body, const std::string& where);

  // One request timed at `boundary` with its spans below it; throws Refused for another boundary
  // than the two above, and if a span does not lie within the boundary.
  void request(const std::string& boundary, LoopbackService* loopback,
               abba_worker::Recorder& recorder);
  // Of the last request.
  [[nodiscard]] const runtime::Response& response() const { return response_; }

 private:
  runtime::Runtime& runtime_;
  std::string body_;
  runtime::Request request_;
  runtime::SpanLog log_;
  runtime::Response response_;
};

// The body of {"request": {...}} or {"request": NAME}, a file of the folder `requests_dir`. Throws
// Error(kBadInput) with what was found and what would be accepted.
std::string read_request_body(const base::Json& input, const std::string& requests_dir);

}  // namespace abba::laya
