// A small HTTP server for GET requests: one thread, bounded requests and connections, every wait
// has a time limit.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace firstwait {

struct HttpRequest {
  std::string_view path;    // without the query
  std::string_view accept;  // the Accept header
};
struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;
  // `endpoint`: "127.0.0.1:9476", "[::1]:9476"; port 0 takes a free one. The handler runs on the
  // server's thread.
  static Result<std::unique_ptr<HttpServer>> start(const std::string& endpoint, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  uint16_t port() const;

 private:
  HttpServer();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace firstwait
