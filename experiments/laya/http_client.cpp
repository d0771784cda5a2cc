#include "experiments/laya/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "engine/base/error.h"

namespace abba::laya {
namespace {

using base::Error;
using base::ErrorCode;

[[noreturn]] void broken(const std::string& what) {
  throw Error(ErrorCode::kBroken, "http client", what);
}

std::size_t number_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  std::size_t value = 0;
  if (at == std::string_view::npos) broken("the reply has no " + std::string(label));
  const char* first = text.data() + at + label.size();
  if (std::from_chars(first, text.data() + text.size(), value).ec != std::errc()) {
    broken("the reply has no number after " + std::string(label));
  }
  return value;
}

}  // namespace

HttpClient::HttpClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  if (socket_ < 0 ||
      connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) {
    const std::string why = base::errno_text(errno);
    if (socket_ >= 0) close(socket_);
    throw Error(ErrorCode::kPreflight, "127.0.0.1:" + std::to_string(port),
                "cannot be connected to: " + why);
  }
}

HttpClient::~HttpClient() {
  close(socket_);
}

void HttpClient::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) broken("cannot send: " + base::errno_text(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void HttpClient::receive_more() {
  char part[65536];
  ssize_t size = 0;
  do {
    size = recv(socket_, part, sizeof part, 0);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) broken("the connection ended before the reply was whole");
  received_.append(part, static_cast<std::size_t>(size));
}

HttpClient::Reply HttpClient::post(std::string_view path, std::string_view body) {
  out_ = "POST ";
  out_ += path;
  out_ += " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ";
  out_ += std::to_string(body.size());
  out_ += "\r\n\r\n";
  out_ += body;
  send_all(out_);
  received_.clear();
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) receive_more();
  const std::string_view head(received_.data(), end);
  Reply reply;
  reply.status = static_cast<int>(number_after(head, "HTTP/1.1 "));
  const std::size_t size = number_after(head, "Content-Length: ");
  while (received_.size() < end + 4 + size) receive_more();
  reply.body = received_.substr(end + 4, size);
  return reply;
}

}  // namespace abba::laya
