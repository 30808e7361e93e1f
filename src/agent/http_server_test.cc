#include "agent/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace firstwait {
namespace {

int dial(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return -1;
  return fd;
}

std::string ask(uint16_t port, const std::string& request) {
  const int fd = dial(port);
  std::string out;
  if (fd < 0 || ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return out;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::recv(fd, chunk, sizeof chunk, 0)) > 0;)
    out.append(chunk, static_cast<size_t>(n));
  ::close(fd);
  return out;
}

std::unique_ptr<HttpServer> echo() {
  auto server = HttpServer::start("127.0.0.1:0", [](const HttpRequest& r) {
    return HttpAnswer{200, "text/plain", std::string(r.path) + "|" + std::string(r.accept) + "\n"};
  });
  return server ? std::move(*server) : nullptr;
}

TEST(HttpServer, PathAndAcceptReachTheHandler) {
  const auto server = echo();
  ASSERT_TRUE(server);
  const std::string got = ask(
      server->port(),
      "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200")) << got;
  EXPECT_TRUE(got.ends_with("/metrics|text/plain\n")) << got;
}

TEST(HttpServer, OtherMethodsBodiesAndNoiseAreRefused) {
  const auto server = echo();
  ASSERT_TRUE(server);
  EXPECT_TRUE(ask(server->port(),
                  "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: "
                  "close\r\n\r\nhello")
                  .starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(ask(server->port(), "DELETE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 405"));
  ask(server->port(), std::string("\0\1\2\3 nonsense\r\n\r\n", 16));
  ask(server->port(), "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(ask(server->port(), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, IdleConnectionsBeyondTheLimitDoNotKeepOthersOutForLong) {
  const auto server = echo();
  ASSERT_TRUE(server);
  std::vector<int> idle;
  for (int i = 0; i < 80; ++i) idle.push_back(dial(server->port()));
  for (const int fd : idle) ::close(fd);
  std::string got;
  for (int i = 0; i < 100 && got.empty(); ++i) {
    got = ask(server->port(), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, AnAddressInUseOrMalformedIsAnErrorWithARemedy) {
  const auto server = echo();
  ASSERT_TRUE(server);
  const auto again = HttpServer::start("127.0.0.1:" + std::to_string(server->port()), nullptr);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().remedy, "");
  for (const char* bad : {"", "9476", "host.example:1", "127.0.0.1:70000", "127.0.0.1:"})
    EXPECT_FALSE(HttpServer::start(bad, nullptr)) << bad;
}

}  // namespace
}  // namespace firstwait
