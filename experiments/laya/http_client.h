// A blocking HTTP/1.1 client for one server on this machine: one connection kept open, one request
// at a time. For the `http` boundary of the worker and for tests; no TLS, no redirects.
#pragma once

#include <string>
#include <string_view>

namespace abba::laya {

class HttpClient {
 public:
  // Connects to 127.0.0.1:port. Throws Error(kPreflight).
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Reply {
    int status = 0;
    std::string body;
  };
  // Throws Error(kBroken) if the connection ends or the reply is not one with a Content-Length.
  Reply post(std::string_view path, std::string_view body);

 private:
  void send_all(std::string_view bytes);
  void receive_more();

  int socket_ = -1;
  std::string out_;       // reused
  std::string received_;  // reused
};

}  // namespace abba::laya
