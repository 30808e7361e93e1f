#include "agent/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "base/text.h"

namespace firstwait {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr int kConnections = 64;
constexpr auto kPatience = std::chrono::seconds(10);
constexpr size_t kHeaderLimit = 16 << 10;

// One connection; keeps itself alive by what it waits for.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const HttpServer::Handler& handler, int& open)
      : stream_(std::move(socket)), handler_(handler), open_(open) {
    ++open_;
  }
  ~Session() { --open_; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kHeaderLimit);
    parser_->body_limit(0);
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       if (error && error != http::error::body_limit) return self->close();
                       self->answer(error == http::error::body_limit);
                     });
  }

 private:
  void answer(bool has_body) {
    const auto& request = parser_->get();
    const std::string_view target(request.target().data(), request.target().size());
    HttpAnswer answer;
    if (has_body || (request.method() != http::verb::get && request.method() != http::verb::head)) {
      answer = {405, "text/plain; charset=utf-8", "only GET\n"};
    } else {
      const auto accept = request[http::field::accept];
      answer = handler_({target.substr(0, target.find('?')), {accept.data(), accept.size()}});
    }
    response_ = {static_cast<http::status>(answer.status), request.version()};
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(request.keep_alive() && !has_body);
    const bool head = request.method() == http::verb::head;
    const size_t size = answer.body.size();
    response_.body() = head ? std::string() : std::move(answer.body);
    response_.content_length(size);
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, size_t) {
                        if (error || !self->response_.keep_alive()) return self->close();
                        self->response_.body().clear();
                        self->response_.body().shrink_to_fit();
                        self->read();
                      });
  }
  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kHeaderLimit * 2};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  const HttpServer::Handler& handler_;
  int& open_;  // used on the server's thread alone
};

}  // namespace

struct HttpServer::State {
  explicit State(Handler h) : handler(std::move(h)), acceptor(io), pause(io) {}
  void accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error && open < kConnections)
        std::make_shared<Session>(std::move(socket), handler, open)->read();
      if (!error) return accept();
      // Out of file descriptors, most likely: trying again at once would spin.
      pause.expires_after(std::chrono::milliseconds(200));
      pause.async_wait([this](beast::error_code stopped) {
        if (!stopped) accept();
      });
    });
  }
  int open = 0;  // outlives io, whose sessions count themselves out
  Handler handler;
  asio::io_context io{1};
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::jthread thread;
};

HttpServer::HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& endpoint,
                                                      Handler handler) {
  const size_t colon = endpoint.rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : parse_int(endpoint.substr(colon + 1));
  std::string address = endpoint.substr(0, colon);
  if (address.starts_with("[") && address.ends_with("]"))
    address = address.substr(1, address.size() - 2);
  beast::error_code error;
  const auto ip = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error || !port || *port < 0 || *port > 65535)
    return Error{"'" + endpoint + "' is no address and port", "listen", "write 127.0.0.1:9476"};
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->state_ = std::make_unique<State>(std::move(handler));
  State& s = *server->state_;
  const tcp::endpoint where(ip, static_cast<uint16_t>(*port));
  s.acceptor.open(where.protocol(), error);
  if (!error) s.acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) s.acceptor.bind(where, error);
  if (!error) s.acceptor.listen(kConnections, error);
  if (error)
    return Error{"cannot listen on " + endpoint + ": " + error.message(), "listen",
                 "choose another port with --listen or stop what uses it"};
  s.accept();
  s.thread = std::jthread([&s] { s.io.run(); });
  return server;
}

HttpServer::~HttpServer() {
  if (!state_) return;
  state_->io.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

uint16_t HttpServer::port() const {
  beast::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

}  // namespace firstwait
