// tokamax/serve/http/connection.hpp: the requests of one client and their answers, one after another.
// SPDX-License-Identifier: Apache-2.0
// needs <boost/beast/http.hpp>
// tested by tests/serve/http/server.cpp
#pragma once

#include <tokamax/serve/http/exchange.hpp>        // exchange
#include <tokamax/serve/http/http_error.hpp>      // http_error
#include <tokamax/serve/http/server_options.hpp>  // server_options

#include <utility>  // exchange of Asio's coroutines, which Boost 1.74 does not include

#include <boost/asio/io_context.hpp>         // io_context
#include <boost/asio/ip/tcp.hpp>             // tcp
#include <boost/asio/post.hpp>               // post
#include <boost/asio/steady_timer.hpp>       // steady_timer
#include <boost/asio/write.hpp>              // async_write
#include <boost/beast/core/flat_buffer.hpp>  // flat_buffer
#include <boost/beast/http.hpp>              // request_parser

#include <atomic>    // atomic
#include <optional>  // optional
#include <set>       // set

namespace tokamax::serve::detail {

class connection;

/// What the connections of a server share. All but `ended` belongs to the thread of the server. Each connection has a share of it,
/// because an exchange may outlive the server.
struct connection_host {
  boost::asio::io_context io{1};
  std::atomic<bool> ended = false;  ///< Is the server gone?
  server_options options;
  http_handler handler;
  bool draining = false;
  std::set<std::shared_ptr<connection>> open;
  std::function<void()> when_closed;
};

/// A socket has at most one read and one write at a time. While an answer is made, the read waits for the client to leave; bytes
/// that come instead begin the next request.
class connection : public std::enable_shared_from_this<connection> {
 public:
  using code = boost::system::error_code;
  connection(boost::asio::ip::tcp::socket s, std::shared_ptr<connection_host> host)
      : host_(std::move(host)),
        socket_(std::move(s)),
        timer_(host_->io),
        buffer_(host_->options.most_header + read_size * 2) {}

  void start() { read_header(); }
  bool busy() const { return busy_; }
  connection_host& host() { return *host_; }
  /// Ends the connection at once.
  void close() {
    if (closed_) return;
    closed_ = true;
    ++deadline_;
    timer_.cancel();
    code ignored;
    socket_.close(ignored);
    if (const auto f = std::exchange(when_gone_, nullptr); f && busy_ && !done_) f();
    host_->open.erase(shared_from_this());
    host_->when_closed();
  }

  // What the exchange of the request `number` asks for, on the thread of the server.
  void answer(std::uint64_t number, int status_code, const std::string& body, std::string_view type) {
    if (!answers(number) || begun_) return;
    write_head(status_code, type, body.size());
    if (!head_only_) unsent_ += body;
    done_ = true;
    write();
  }
  void begin_events(std::uint64_t number) {
    if (!answers(number) || begun_) return;
    write_head(200, "text/event-stream; charset=utf-8", std::nullopt);
    write();
  }
  void put(std::uint64_t number, const std::string& bytes) {
    if (!answers(number) || !begun_ || bytes.empty() || head_only_) return;
    if (chunked_) {
      constexpr char digits[] = "0123456789abcdef";
      std::string size;
      for (std::size_t n = bytes.size(); n != 0; n >>= 4) size.insert(size.begin(), digits[n & 15]);
      unsent_ += size + "\r\n" + bytes + "\r\n";
    } else {
      unsent_ += bytes;
    }
    if (unsent_.size() > host_->options.most_unsent) return close();
    write();
  }
  void end(std::uint64_t number) {
    if (!answers(number)) return;
    if (!begun_) return answer(number, 500, internal_error_body(), "application/json");
    if (chunked_ && !head_only_) unsent_ += "0\r\n\r\n";
    done_ = true;
    write();
  }
  void abandon(std::uint64_t number) {
    if (!answers(number)) return;
    if (!begun_) return end(number);
    keep_alive_ = false;  // the client misses the end, and gets what there is
    done_ = true;
    write();
  }
  void when_gone(std::uint64_t number, std::function<void()> f) {
    if (number != number_ || closed_) return f();
    if (busy_ && !done_) when_gone_ = std::move(f);
  }

 private:
  static constexpr std::size_t read_size = 4096, most_discarded = std::size_t{1} << 24;

  bool answers(std::uint64_t number) const { return number == number_ && busy_ && !done_ && !closed_; }

  // A request, header first, so that a client hears of a body that is too large before it sends it.
  void read_header() {
    parser_.emplace();
    parser_->header_limit(host_->options.most_header);
    parser_->body_limit(host_->options.most_body);
    set_deadline(host_->options.read_time);
    boost::beast::http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](code e, std::size_t) {
      if (e) return self->read_failed(e);
      self->read_body();
    });
  }
  void read_body() {
    namespace http = boost::beast::http;
    if (!parser_->is_done() && parser_->get()[http::field::expect] == "100-continue") {
      unsent_ += "HTTP/1.1 100 Continue\r\n\r\n";
      write();
    }
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](code e, std::size_t) {
      if (e) return self->read_failed(e);
      self->handle();
    });
  }
  // Answers what was no request, if anything came at all, and ends the connection.
  void read_failed(code e) {
    namespace http = boost::beast::http;
    if (closed_) return;
    const bool begun = parser_->got_some() || buffer_.size() != 0;
    if (!begun || e == boost::asio::error::connection_reset) return close();
    const auto refuse = [&](int status_code, const std::string& message) {
      begin_answer(false);
      answer(number_, status_code, error_body(http_error(status_code, message)), "application/json");
    };
    if (e == boost::asio::error::operation_aborted) return refuse(408, "the request did not arrive in time");
    if (e == http::error::header_limit || e == http::error::buffer_overflow)
      return refuse(431, "the header has more than " + std::to_string(host_->options.most_header) + " bytes");
    if (e == http::error::body_limit)
      return refuse(413, "the body has more than " + std::to_string(host_->options.most_body) + " bytes");
    refuse(400, "no request of HTTP: " + e.message());
  }
  // From here on the exchange of this number may answer, and those before it no longer.
  void begin_answer(bool keep_alive) {
    ++number_;
    busy_ = true;
    begun_ = done_ = chunked_ = head_only_ = false;
    keep_alive_ = keep_alive;
    ++deadline_;
    timer_.cancel();
  }
  void handle() {
    namespace http = boost::beast::http;
    auto message = parser_->release();
    begin_answer(message.keep_alive() && !host_->draining);
    can_chunk_ = message.version() >= 11;
    head_only_ = message.method() == http::verb::head;
    http_request r;
    r.method = head_only_ ? "GET" : std::string(message.method_string());
    const std::string target(message.target());
    const std::size_t question = target.find('?');
    r.path = target.substr(0, question);
    if (question != target.npos) r.query = target.substr(question + 1);
    r.authorization = std::string(message[http::field::authorization]);
    r.body = std::move(message.body());
    watch();
    auto to = exchange_of();
    if (host_->draining) return to->answer(503, error_body(http_error(503, "the server is shutting down")));
    try {
      host_->handler(std::move(r), to);
    } catch (const std::exception& e) {
      to->answer(500, error_body(http_error(500, e.what())));
    }
  }
  // Reads while no request is being read: the client leaves, its next request begins, or what it still sends is thrown away.
  void watch() {
    if (watching_ || closed_ || buffer_.size() != 0) return;  // or else the next request waits here already
    watching_ = true;
    socket_.async_read_some(buffer_.prepare(read_size), [self = shared_from_this()](code e, std::size_t n) {
      connection& c = *self;
      c.watching_ = false;
      if (e) return c.close();
      c.buffer_.commit(n);
      if (c.closing_) {
        c.buffer_.clear();
        if ((c.discarded_ += n) > most_discarded) return c.close();
      } else if (!c.busy_) {
        return c.read_header();
      }
      c.watch();
    });
  }
  // A body without a size comes in chunks, or ends with the connection.
  void write_head(int status_code, std::string_view type, std::optional<std::size_t> size) {
    namespace http = boost::beast::http;
    begun_ = true;
    chunked_ = !size && can_chunk_;
    if (!size && !chunked_) keep_alive_ = false;
    unsent_ += "HTTP/1.1 " + std::to_string(status_code) + " ";
    const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status_code)));
    unsent_.append(reason.data(), reason.size());
    unsent_ += "\r\nContent-Type: " + std::string(type) + "\r\n";
    if (size) unsent_ += "Content-Length: " + std::to_string(*size) + "\r\n";
    if (!size) unsent_ += "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";  // a proxy passes events on at once
    if (chunked_) unsent_ += "Transfer-Encoding: chunked\r\n";
    if (status_code == 401) unsent_ += "WWW-Authenticate: Bearer\r\n";
    if (status_code == 429 || status_code == 503) unsent_ += "Retry-After: 1\r\n";
    unsent_ += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  }
  // Sends what waits; what comes meanwhile goes together with the next write.
  void write() {
    if (!writing_.empty() || closed_) return;
    if (unsent_.empty()) {
      if (busy_ && done_) finish();
      return;
    }
    writing_.swap(unsent_);
    if (busy_) set_deadline(host_->options.write_time);
    boost::asio::async_write(socket_, boost::asio::buffer(writing_), [self = shared_from_this()](code e, std::size_t) {
      if (e) return self->close();
      self->writing_.clear();
      if (self->busy_) self->no_deadline();
      self->write();
    });
  }
  // The answer is out. A connection that ends says so and waits until the client has read it, or the answer could be lost.
  void finish() {
    busy_ = false;
    when_gone_ = nullptr;
    if (keep_alive_ && !host_->draining) {
      set_deadline(host_->options.read_time);
      if (!watching_) read_header();
      return;
    }
    closing_ = true;
    code ignored;
    socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    set_deadline(std::chrono::milliseconds(2000));
    buffer_.clear();
    watch();
  }
  // A client that is late is cut off, or is told so if its request is being read.
  void set_deadline(std::chrono::milliseconds after) {
    timer_.expires_after(after);
    timer_.async_wait([self = shared_from_this(), number = ++deadline_](code) {
      if (number != self->deadline_ || self->closed_) return;
      code ignored;
      self->busy_ || self->closing_ ? self->close() : void(self->socket_.cancel(ignored));
    });
  }
  void no_deadline() {
    ++deadline_;
    timer_.cancel();
  }
  std::shared_ptr<exchange> exchange_of();

  std::shared_ptr<connection_host> host_;  // the first, since the others need it to the end
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::string unsent_, writing_;
  std::function<void()> when_gone_;
  std::uint64_t number_ = 0, deadline_ = 0;
  std::size_t discarded_ = 0;
  bool busy_ = false, begun_ = false, done_ = false;  // is there a request, has its answer begun, is it whole?
  bool keep_alive_ = false, can_chunk_ = false, chunked_ = false, head_only_ = false;
  bool watching_ = false, closing_ = false, closed_ = false;
};

/// Hands calls of any thread to the thread of the server. When that is gone, so is the client.
class connection_exchange : public exchange {
 public:
  connection_exchange(std::shared_ptr<connection> c, std::uint64_t number) : to_(std::move(c)), number_(number) {}
  ~connection_exchange() override {
    post([](connection& c, std::uint64_t n) { c.abandon(n); });
  }
  void answer(int status_code, std::string body, std::string_view type) override {
    post([status_code, b = std::move(body), t = std::string(type)](connection& c, std::uint64_t n) {
      c.answer(n, status_code, b, t);
    });
  }
  void begin_events() override {
    post([](connection& c, std::uint64_t n) { c.begin_events(n); });
  }
  void put(std::string bytes) override {
    post([b = std::move(bytes)](connection& c, std::uint64_t n) { c.put(n, b); });
  }
  void end() override {
    post([](connection& c, std::uint64_t n) { c.end(n); });
  }
  void when_gone(std::function<void()> f) override {
    if (to_->host().ended) return f();
    post([f = std::move(f)](connection& c, std::uint64_t n) { c.when_gone(n, f); });
  }

 private:
  template <class F>
  void post(F f) {
    if (to_->host().ended) return;
    boost::asio::post(to_->host().io, [c = to_, n = number_, f = std::move(f)] { f(*c, n); });
  }
  std::shared_ptr<connection> to_;
  std::uint64_t number_;
};

inline std::shared_ptr<exchange> connection::exchange_of() {
  return std::make_shared<connection_exchange>(shared_from_this(), number_);
}

}  // namespace tokamax::serve::detail
