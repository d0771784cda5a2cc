// Bytes of any kind sent to a running server, in one piece or in two. Promises: whatever comes back
// starts with a status line; a proper request afterwards is answered; nothing stays open.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "experiments/laya/http_client.h"
#include "experiments/laya/service.h"
#include "tests/fuzz/mutator.h"

namespace {

namespace laya = abba::laya;

class Target {
 public:
  Target()
      : executor_(4),
        service_({.model = "none", .repo = "none"}, executor_,
                 [](const abba::runtime::Request&) { return abba::runtime::Response{}; }),
        server_({.request_timeout_s = 0.2, .idle_timeout_s = 0.2}, service_) {}

  std::string operator()(std::string_view input) {
    const std::string reply = exchange(input);
    if (!reply.empty() && reply.rfind("HTTP/1.1 ", 0) != 0) return "the reply has no status line";
    if (++count_ % 16 != 0) return "";
    try {
      laya::HttpClient client(server_.port());
      const auto proper = client.post("/v1/systemone", R"({"state": "s", "questions": {}})");
      if (proper.status != 200) return "a proper request got " + std::to_string(proper.status);
    } catch (const std::exception& error) {
      return std::string("a proper request failed: ") + error.what();
    }
    return executor_.failure();
  }

 private:
  // Everything the server says until it closes or is silent.
  std::string exchange(std::string_view input) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(fd);
      return "not connected";
    }
    const std::size_t first = count_ % 2 == 0 ? input.size() : input.size() / 2;
    send(fd, input.data(), first, MSG_NOSIGNAL);
    send(fd, input.data() + first, input.size() - first, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    std::string reply;
    char part[65536];
    for (ssize_t size = 0; (size = recv(fd, part, sizeof part, 0)) > 0;) {
      reply.append(part, static_cast<std::size_t>(size));
    }
    close(fd);
    return reply;
  }

  laya::Executor executor_;
  laya::DecisionService service_;
  laya::HttpServer server_;
  std::uint64_t count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Target target;
  return abba::fuzz::run(argc, argv,
                         {"\r\n",
                          "\r\n\r\n",
                          "Content-Length: 5\r\n",
                          "Content-Length: -1\r\n",
                          "Content-Length: 99999999999999999999\r\n",
                          "Transfer-Encoding: chunked\r\n",
                          "Expect: 100-continue\r\n",
                          "Connection: close\r\n",
                          "Connection: keep-alive\r\n",
                          "HTTP/1.0",
                          "GET ",
                          "POST ",
                          "/health",
                          "/v1/systemone",
                          "0\r\n\r\n",
                          "ffffffffffffffff\r\n",
                          "5\r\nhello\r\n",
                          std::string(1, '\0'),
                          "Authorization: Bearer x\r\n",
                          "Upgrade: h2c\r\n",
                          "{\"state\": 1, \"questions\": {}}"},
                         [&](std::string_view input) { return target(input); });
}
