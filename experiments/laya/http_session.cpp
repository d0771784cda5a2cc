#include "experiments/laya/http_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cmath>
#include <utility>

namespace abba::laya {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using net::ip::tcp;
using Clock = std::chrono::steady_clock;

// What a client still sends after an early reply is read and thrown away, so that it gets to read
// the reply; up to these limits.
constexpr std::size_t kMostLingerBytes = std::size_t{16} << 20U;
constexpr double kLingerS = 3;

std::string detail(const char* sentence) {
  return std::string("{\"detail\":\"") + sentence + "\"}";
}

// One connection. All of it runs on one strand; it lives as long as an operation of it is pending.
class Session final : public HttpSession, public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, std::shared_ptr<HttpConnections> shared, bool turned_away)
      : stream_(std::move(socket)),
        timer_(stream_.get_executor()),
        shared_(std::move(shared)),
        turned_away_(turned_away) {}
  ~Session() override {
    const std::lock_guard lock(shared_->mutex);
    --shared_->count;
    if (turned_away_) --shared_->turned_away;
    shared_->ended.notify_all();
  }

  void start() {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    const tcp::endpoint peer = stream_.socket().remote_endpoint(ignored);
    client_ = peer.address().to_string() + ":" + std::to_string(peer.port());
    net::post(stream_.get_executor(), [self = shared_from_this()] {
      if (self->turned_away_) return self->turn_away();
      self->wait();
    });
  }
  void close(bool hard) override {
    net::post(stream_.get_executor(), [self = shared_from_this(), hard] {
      if (hard || self->idle_) self->shut();
    });
  }

 private:
  // Said before anything is read; what the client sends meanwhile is thrown away, so that it gets
  // to read the reply.
  void turn_away() {
    begin_record();
    record_.note = "too many connections";
    HttpReply busy{503, detail("server busy, try again later")};
    busy.headers = {{"Retry-After", "1"}};
    reply(std::move(busy), true);
  }

  // ---- between requests
  void wait() {
    if (shared_->draining) return shut();
    if (buffer_.size() > 0) return read_head();  // the client did not wait for the reply
    idle_ = true;
    if (std::isfinite(shared_->options.idle_timeout_s)) {
      arm(shared_->options.idle_timeout_s, [](Session& session) {
        if (session.idle_) session.shut();  // a request may have begun in the same moment
      });
    }
    stream_.socket().async_wait(tcp::socket::wait_read,
                                [self = shared_from_this()](error_code error) {
                                  self->idle_ = false;
                                  if (error) return self->shut();
                                  self->read_head();
                                });
  }

  // ---- a request
  void begin_record() {
    begun_ = Clock::now();
    record_ = {};
    record_.client = client_;
  }

  void read_head() {
    begin_record();
    timed_out_ = false;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->options.most_header_bytes));
    parser_->body_limit(shared_->options.most_body_bytes);
    limit_reading(std::min(shared_->options.header_timeout_s, shared_->options.request_timeout_s));
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_head(error); });
  }

  void on_head(error_code error) {
    if (error == http::error::end_of_stream && !parser_->got_some()) return shut();
    const auto& fields = parser_->get();
    record_.head = {std::string(fields.method_string()), std::string(fields.target()),
                    std::string(fields[http::field::authorization])};
    const bool too_large = error == http::error::body_limit;
    if (error && !too_large) return fail(error);
    if (auto refusal = shared_->handler->refuse(record_.head)) {
      return reply(std::move(*refusal), has_body() || record_.head.method == "HEAD");
    }
    if (too_large) return fail(error);
    const std::chrono::duration<double> spent = Clock::now() - begun_;
    limit_reading(shared_->options.request_timeout_s - spent.count());
    if (beast::iequals(fields[http::field::expect], "100-continue")) return invite();
    read_body();
  }

  // The client waits to be told that its body is wanted.
  void invite() {
    auto response = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *response,
                      [self = shared_from_this(), response](error_code error, std::size_t) {
                        if (error) return self->fail(error);
                        self->read_body();
                      });
  }

  void read_body() {
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_body(error); });
  }

  void on_body(error_code error) {
    if (error) return fail(error);
    timer_.cancel();
    keep_alive_ = parser_->get().keep_alive();
    std::string body = std::move(parser_->get().body());
    record_.bytes_in = body.size();
    shared_->handler->handle(
        record_.head, std::move(body), [self = shared_from_this()](HttpReply made) {
          net::post(self->stream_.get_executor(), [self, made = std::move(made)]() mutable {
            self->reply(std::move(made), !self->keep_alive_);
          });
        });
  }

  // Ends the reading of the request after so many seconds from now.
  void limit_reading(double s) {
    arm(s, [](Session& session) {
      session.timed_out_ = true;
      session.stream_.cancel();
    });
  }

  [[nodiscard]] bool has_body() const {
    const auto length = parser_->content_length();
    return parser_->chunked() || (length && *length > 0) || !parser_->get().keep_alive();
  }

  // A request that did not come whole or is not HTTP.
  void fail(error_code error) {
    if (timed_out_) {
      record_.note = "the request did not come in time";
      return reply({408, detail("the request did not come in time")}, true);
    }
    if (error == http::error::body_limit) {
      return reply({413, detail("request body too large")}, true);
    }
    if (error == http::error::header_limit) {
      return reply({431, detail("the header is too large")}, true);
    }
    const bool is_syntax =
        error.category() == make_error_code(http::error::bad_version).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message;
    if (is_syntax) return reply({400, detail("this is not HTTP/1.1")}, true);
    record_.note = "the client closed the connection before its request was whole";
    log(0, 0);
    shut();
  }

  // ---- the reply
  void reply(HttpReply made, bool close) {
    close = close || shared_->draining;
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(made.status));
    response_.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : made.headers) response_.set(name, value);
    response_.body() = std::move(made.body);
    response_.keep_alive(!close);
    response_.prepare_payload();
    record_.log = std::move(made.log);
    arm(shared_->options.request_timeout_s, [](Session& session) { session.shut(); });
    http::async_write(stream_, response_,
                      [self = shared_from_this(), close](error_code error, std::size_t bytes) {
                        self->on_replied(error, bytes, close);
                      });
  }

  void on_replied(error_code error, std::size_t bytes, bool close) {
    if (error) record_.note = "the client did not take the reply";
    log(static_cast<int>(response_.result_int()), bytes);
    timer_.cancel();
    if (error) return shut();
    if (!close) return wait();
    linger();
  }

  void linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    arm(kLingerS, [](Session& session) { session.shut(); });
    discarded_ = 0;
    scrap_.resize(65536);
    discard();
  }

  void discard() {
    stream_.async_read_some(net::buffer(scrap_),
                            [self = shared_from_this()](error_code error, std::size_t bytes) {
                              self->discarded_ += bytes;
                              if (error || self->discarded_ > kMostLingerBytes) return self->shut();
                              self->discard();
                            });
  }

  void log(int status, std::size_t bytes_out) {
    if (!shared_->options.log) return;
    record_.status = status;
    record_.bytes_out = bytes_out;
    record_.head.authorization.clear();
    record_.duration_ns = std::chrono::nanoseconds(Clock::now() - begun_).count();
    shared_->options.log(record_);
  }

  // `late` after so many seconds, unless it is armed anew or cancelled before.
  void arm(double s, void (*late)(Session&)) {
    timer_.expires_after(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s)));
    timer_.async_wait([weak = weak_from_this(), late](error_code error) {
      const auto self = weak.lock();
      if (!error && self) late(*self);
    });
  }

  void shut() {
    timer_.cancel();
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

  beast::tcp_stream stream_;
  net::steady_timer timer_;
  std::shared_ptr<HttpConnections> shared_;
  beast::flat_buffer buffer_{131072};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::string client_;
  AccessRecord record_;
  Clock::time_point begun_;
  const bool turned_away_;
  bool idle_ = false;
  bool timed_out_ = false;
  bool keep_alive_ = true;
  std::vector<char> scrap_;
  std::size_t discarded_ = 0;
};

}  // namespace

std::shared_ptr<HttpSession> start_session(tcp::socket socket,
                                           const std::shared_ptr<HttpConnections>& shared,
                                           bool turn_away) {
  auto session = std::make_shared<Session>(std::move(socket), shared, turn_away);
  session->start();
  return session;
}

}  // namespace abba::laya
