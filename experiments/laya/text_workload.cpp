#include "experiments/laya/text_workload.h"

#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace abba::laya {
namespace {

using abba_worker::Refused;
using abba_worker::Span;
using base::Error;
using base::ErrorCode;

constexpr std::size_t kMostInFlight = 4;

// The server's spans below the boundary that is being timed. A span outside of it would mean that
// the boundaries do not nest, so it fails the request.
void add_spans(abba_worker::Recorder& recorder, const std::vector<runtime::SpanRecord>& records,
               std::size_t first, std::int64_t from_ns, std::int64_t to_ns) {
  for (std::size_t i = first; i < records.size(); ++i) {
    const runtime::SpanRecord& record = records[i];
    if (record.start_ns < from_ns || record.end_ns > to_ns || record.end_ns < record.start_ns) {
      throw std::runtime_error(std::string("the span \"") + record.name +
                               "\" does not lie within the boundary that encloses it");
    }
    const char* parent =
        record.parent < 0 ? "" : records[static_cast<std::size_t>(record.parent)].name;
    recorder.add(record.name, parent, record.start_ns, record.end_ns);
  }
}

}  // namespace

LoopbackService::LoopbackService(runtime::Runtime& runtime)
    : runtime_(runtime),
      log_(abba_worker::now_ns),
      executor_(kMostInFlight),
      service_({.model = "loopback", .repo = "loopback"}, executor_,
               [this](const runtime::Request& request) { return answer(request); }),
      // The connection lies idle while another arm is measured.
      server_({.idle_timeout_s = std::numeric_limits<double>::infinity(), .threads = 1}, service_),
      client_(std::in_place, server_.port()) {}

runtime::Response LoopbackService::answer(const runtime::Request& request) {
  const std::lock_guard lock(mutex_);
  log_.clear();
  response_ = runtime_.answer(request, &log_);
  return response_;
}

void LoopbackService::ask(const std::string& body) {
  const HttpClient::Reply reply = client_->post("/v1/systemone", body);
  if (reply.status != 200) {
    throw Error(ErrorCode::kBroken, "/v1/systemone",
                "answered " + std::to_string(reply.status) + ": " + reply.body.substr(0, 300));
  }
  const text::PyValue value = text::parse_python_json(reply.body, "reply");
  if (value.find("answers") == nullptr) {
    throw Error(ErrorCode::kBroken, "/v1/systemone", "replied without answers");
  }
}

runtime::Response LoopbackService::take_response() {
  const std::lock_guard lock(mutex_);
  return std::exchange(response_, {});
}

std::vector<runtime::SpanRecord> LoopbackService::spans() const {
  const std::lock_guard lock(mutex_);
  return log_.records();
}

TextWorkload::TextWorkload(runtime::Runtime& runtime, std::string body, const std::string& where)
    : runtime_(runtime), body_(std::move(body)), log_(abba_worker::now_ns) {
  request_ = runtime::read_request(text::parse_python_json(body_, where), where);
}

void TextWorkload::request(const std::string& boundary, LoopbackService* loopback,
                           abba_worker::Recorder& recorder) {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  if (boundary == kHttpBoundary && loopback != nullptr) {
    {
      const Span whole(recorder, kHttpBoundary);
      from_ns = abba_worker::now_ns();
      loopback->ask(body_);
      to_ns = abba_worker::now_ns();
    }
    add_spans(recorder, loopback->spans(), 0, from_ns, to_ns);
    response_ = loopback->take_response();
    return;
  }
  if (boundary != kEngineBoundary) {
    throw Refused("bad_input",
                  "a text request is timed at \"http\" or \"engine\", with \"model\" and "
                  "\"encoder\" within, not at \"" +
                      boundary + "\"");
  }
  log_.clear();
  {
    const Span whole(recorder, kEngineBoundary);
    from_ns = abba_worker::now_ns();
    response_ = runtime_.answer(request_, &log_);
    to_ns = abba_worker::now_ns();
  }
  add_spans(recorder, log_.records(), 1, from_ns, to_ns);
}

std::string read_request_body(const base::Json& input, const std::string& requests_dir) {
  const base::Json& request = input.at("request", "input");
  for (const auto& [key, value] : input.as_object()) {
    if (key != "request" && key != "checkpoint") {
      throw Error(ErrorCode::kBadInput, "input",
                  "has the unknown key \"" + key + "\" beside request; accepted is checkpoint");
    }
  }
  if (request.is_object()) return request.dump();
  const std::string name = request.is_string() ? request.as_string() : "";
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != name.npos) {
    throw Error(ErrorCode::kBadInput, "input",
                "\"request\" must be an object or a name such as \"short_1\"");
  }
  if (requests_dir.empty()) {
    throw Error(ErrorCode::kBadInput, "input",
                "\"request\" by name needs the folder of requests: declare files entry "
                "\"requests\"");
  }
  return base::read_file(requests_dir + "/" + name + ".json", std::size_t{1} << 22U);
}

}  // namespace abba::laya
