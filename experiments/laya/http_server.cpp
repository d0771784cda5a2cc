#include "experiments/laya/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <thread>

#include "engine/base/error.h"
#include "experiments/laya/http_session.h"

namespace abba::laya {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// Connections beyond the allowed ones that are told so at the same time; each for seconds at most.
constexpr std::size_t kMostTurnedAway = 64;

class HttpServer::Implementation {
 public:
  Implementation(const HttpServerOptions& options, HttpHandler& handler)
      : acceptor_(net::make_strand(context_)),
        retry_(acceptor_.get_executor()),
        shared_(std::make_shared<HttpConnections>()) {
    shared_->options = options;
    shared_->handler = &handler;
    listen(options);
    accept();
    for (int i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this] { context_.run(); });
    }
  }
  ~Implementation() {
    drain(0);
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] int port() const { return port_; }

  bool drain(double limit_s) {
    shared_->draining = true;
    net::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
    });
    close_all(false);
    if (wait_for_end(limit_s)) return true;
    close_all(true);
    wait_for_end(1);
    return false;
  }

 private:
  void listen(const HttpServerOptions& options) {
    const std::string where = options.host + ":" + std::to_string(options.port);
    error_code error;
    const auto address = net::ip::make_address(options.host, error);
    if (error) {
      throw base::Error(base::ErrorCode::kBadInput, "--host",
                        "\"" + options.host + "\" is no IP address; 127.0.0.1 is this machine");
    }
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      throw base::Error(base::ErrorCode::kPreflight, where,
                        "cannot be listened at: " + error.message() + "; choose another --port");
    }
  }

  void accept() {
    acceptor_.async_accept(net::make_strand(context_),
                           [this](error_code error, tcp::socket socket) {
                             if (error == net::error::operation_aborted || shared_->draining) {
                               return;
                             }
                             if (error) return accept_later();  // out of descriptors, most likely
                             admit(std::move(socket));
                             accept();
                           });
  }

  void accept_later() {
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([this](error_code error) {
      if (!error && !shared_->draining) accept();
    });
  }

  void admit(tcp::socket socket) {
    const std::lock_guard lock(sessions_mutex_);
    std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
    bool turn_away = false;
    {
      const std::lock_guard counting(shared_->mutex);
      turn_away = shared_->count - shared_->turned_away >= shared_->options.most_connections;
      if (turn_away && shared_->turned_away >= kMostTurnedAway) return;  // closed without a word
      if (turn_away) ++shared_->turned_away;
      ++shared_->count;
    }
    sessions_.push_back(start_session(std::move(socket), shared_, turn_away));
  }

  void close_all(bool hard) {
    std::vector<std::shared_ptr<HttpSession>> alive;  // let go of after the lock
    const std::lock_guard lock(sessions_mutex_);
    for (const auto& session : sessions_) {
      if (auto one = session.lock()) alive.push_back(std::move(one));
    }
    for (const auto& session : alive) session->close(hard);
  }

  bool wait_for_end(double limit_s) {
    std::unique_lock lock(shared_->mutex);
    return shared_->ended.wait_for(lock, std::chrono::duration<double>(limit_s),
                                   [this] { return shared_->count == 0; });
  }

  net::io_context context_;
  // A request that is being answered elsewhere is no operation of the context: this keeps the
  // threads for its reply when all else is closed.
  net::executor_work_guard<net::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  net::steady_timer retry_;
  std::shared_ptr<HttpConnections> shared_;
  std::mutex sessions_mutex_;
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  std::vector<std::thread> threads_;
  int port_ = 0;
};

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandler& handler)
    : implementation_(std::make_unique<Implementation>(options, handler)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return implementation_->port();
}

bool HttpServer::drain(double limit_s) {
  return implementation_->drain(limit_s);
}

}  // namespace abba::laya
