// One connection of the HTTP server: requests one after the other, each with its limits, its reply
// and its record in the access log. Private to http_server.cpp and http_session.cpp.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "experiments/laya/http_server.h"

namespace abba::laya {

// What connections and their server share; outlives both.
struct HttpConnections {
  HttpServerOptions options;
  HttpHandler* handler = nullptr;
  std::atomic<bool> draining{false};
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t count = 0;        // sessions that exist, counted before they are made
  std::size_t turned_away = 0;  // of them, those that only say that there are too many
};

// Lives as long as an operation of it is pending.
class HttpSession {
 public:
  virtual ~HttpSession() = default;
  // From any thread: ends the connection, at once if `hard`, else only if no request has begun.
  virtual void close(bool hard) = 0;
};

// Serves `socket`, whose executor is a strand, or answers 503 to whatever it asks and closes it.
// The caller has counted it in `shared`.
std::shared_ptr<HttpSession> start_session(boost::asio::ip::tcp::socket socket,
                                           const std::shared_ptr<HttpConnections>& shared,
                                           bool turn_away);

}  // namespace abba::laya
