// `abba laya serve`: loads, warms up, binds, says where, serves until a signal, drains.
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/runtime/published_models.h"
#include "experiments/laya/service.h"
#include "experiments/laya/text_commands.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

constexpr const char* kLocalhost = "localhost";

// A key is a line of a file, so that it stands in no process list.
std::string read_key(const std::string& path) {
  if (path.empty()) return "";
  const std::string key(base::trim(base::read_file(path, 4096)));
  if (key.empty()) {
    throw Error(ErrorCode::kBadInput, path, "holds no key; write one into it or leave it out");
  }
  return key;
}

bool is_loopback(const std::string& host) {
  return host.rfind("127.", 0) == 0 || host == "::1" || host == kLocalhost;
}

// Text of a client for a line of JSON: what is no printable ASCII becomes '?', the rest is cut.
std::string loggable(const std::string& text) {
  std::string out = text.substr(0, 200);
  for (char& c : out) c = c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

double rounded(double value) {
  return static_cast<double>(static_cast<std::int64_t>(value * 1000 + 0.5)) / 1000;
}

// One line of standard error, written whole.
void log_line(const Json& json) {
  const std::string line = json.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void log_access(const AccessRecord& record) {
  Json json = Json::object({{"time", base::utc_text(std::time(nullptr))},
                            {"client", record.client},
                            {"method", loggable(record.head.method)},
                            {"target", loggable(record.head.target)},
                            {"status", record.status},
                            {"bytes_in", std::uint64_t{record.bytes_in}},
                            {"bytes_out", std::uint64_t{record.bytes_out}},
                            {"total_ms", rounded(static_cast<double>(record.duration_ns) / 1e6)}});
  for (const auto& [name, value] : record.log) json.set(name, rounded(value));
  if (!record.note.empty()) json.set("note", record.note);
  log_line(json);
}

// SIGTERM and SIGINT are taken by wait_for_signal alone, in every thread started after this.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

HttpServerOptions server_options(const Serve& options, const ServiceOptions& service) {
  HttpServerOptions server;
  server.host = options.host == kLocalhost ? "127.0.0.1" : options.host;
  server.port = options.port;
  server.most_body_bytes = service.limits.body_bytes;
  server.most_connections = static_cast<std::size_t>(options.most_connections);
  server.request_timeout_s = options.timeout_s;
  server.idle_timeout_s = options.keep_alive_s;
  server.log = log_access;
  return server;
}

void refuse_open_door(const Serve& options, const std::string& key) {
  if (is_loopback(options.host) || !key.empty() || options.open) return;
  throw Error(ErrorCode::kBadInput, "--host " + options.host,
              "is reachable from elsewhere: give a key with --key-file, or --open to do without");
}

// Loaded and warmed up on the thread that will use it: a device belongs to the thread that chose
// it.
std::unique_ptr<runtime::LoadedModel> load_on(Executor& executor, const ModelOptions& options) {
  const auto loaded = std::make_shared<std::promise<std::unique_ptr<runtime::LoadedModel>>>();
  Executor::Job job;
  job.run = [loaded, options] {
    try {
      auto model = load_model(options);
      model->runtime.warm_up();
      loaded->set_value(std::move(model));
    } catch (...) {
      loaded->set_exception(std::current_exception());
    }
  };
  job.deadline = Executor::TimePoint::max();
  executor.submit(std::move(job));
  return loaded->get_future().get();
}

}  // namespace

bool serve(const Serve& options) {
  ServiceOptions service;
  service.key = read_key(options.key_file);
  refuse_open_door(options, service.key);
  const sigset_t signals = block_signals();
  std::signal(SIGPIPE, SIG_IGN);
  Executor executor(static_cast<std::size_t>(options.most_waiting));
  const auto model = load_on(executor, options.model);
  service.model = runtime::published_name(checkpoint::family_of(model->checkpoint.config));
  service.repo = std::filesystem::path(options.model.checkpoint).lexically_normal().filename();
  service.device = std::string(model->backend->name());
  service.timeout_s = options.most_wait_s;

  DecisionService handler(service, executor, [&](const runtime::Request& request) {
    return model->runtime.answer(request);
  });
  HttpServer server(server_options(options, service), handler);
  log_line(Json::object({{"time", base::utc_text(std::time(nullptr))},
                         {"event", "ready"},
                         {"url", "http://" + options.host + ":" + std::to_string(server.port())},
                         {"model", service.model},
                         {"device", service.device}}));
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  const bool whole = server.drain(options.drain_s);
  executor.finish();
  log_line(Json::object({{"time", base::utc_text(std::time(nullptr))},
                         {"event", "stopped"},
                         {"drained", whole},
                         {"failure", executor.failure()}}));
  return executor.failure().empty();
}

}  // namespace abba::laya
