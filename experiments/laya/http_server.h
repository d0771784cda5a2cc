// An HTTP/1.1 server for small JSON services: limits on everything a client controls (header and
// body size, time to send a request, connections), keep-alive, graceful drain. It knows no paths
// and no models. Boost.Asio and Boost.Beast stay inside http_server.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace abba::laya {

struct HttpReply {
  int status = 200;
  std::string body;  // JSON
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::pair<std::string, double>> log = {};  // numbers for the access log
};

struct HttpHead {
  std::string method;
  std::string target;
  std::string authorization;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Called with the header alone, on a network thread: a reply refuses the request before its body
  // is read.
  virtual std::optional<HttpReply> refuse(const HttpHead& head) = 0;
  // Called with the whole request, on a network thread; must not block. `done` is to be called
  // once, now or later, from any thread.
  virtual void handle(const HttpHead& head, std::string body,
                      std::function<void(HttpReply)> done) = 0;
};

struct AccessRecord {
  std::string client;
  HttpHead head;  // authorization left out
  int status = 0;
  std::size_t bytes_in = 0;
  std::size_t bytes_out = 0;
  std::int64_t duration_ns = 0;  // from the first byte of the request to the last of the reply
  std::vector<std::pair<std::string, double>> log = {};
  std::string note = {};  // why a request got no reply, or was refused by the server itself
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0 = any free one
  std::size_t most_body_bytes = std::size_t{2} << 20U;
  std::size_t most_header_bytes = 16384;
  std::size_t most_connections = 128;
  // Of a client, whatever its pace; a drip of bytes prolongs none of them.
  double header_timeout_s = 5;    // from the first byte of a request to the end of its header
  double request_timeout_s = 10;  // from the first byte of a request to its last; to take a reply
  double idle_timeout_s = 5;      // to begin a request, the first or the next; may be infinite
  int threads = 2;
  std::function<void(const AccessRecord&)> log = nullptr;  // called from network threads
};

class HttpServer {
 public:
  // Binds, listens and starts its threads. `handler` must outlive the server. Throws
  // Error(kBadInput) for a host that is no address, Error(kPreflight) if the port cannot be bound.
  HttpServer(const HttpServerOptions& options, HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const;
  // Accepts no more, closes idle connections, lets requests that have begun end, for at most
  // `limit_s`; then closes whatever is left. Returns whether nothing had to be cut off.
  bool drain(double limit_s);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace abba::laya
