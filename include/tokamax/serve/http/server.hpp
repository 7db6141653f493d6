// tokamax/serve/http/server.hpp: a server of HTTP/1.1 with one thread, for answers that come bit by bit.
// SPDX-License-Identifier: Apache-2.0
// needs <boost/beast/http.hpp>
#pragma once

#include <tokamax/base/error.hpp>             // error
#include <tokamax/serve/http/connection.hpp>  // connection

#include <boost/asio/executor_work_guard.hpp>  // executor_work_guard
#include <boost/asio/io_context.hpp>           // io_context
#include <boost/asio/signal_set.hpp>           // signal_set

#include <atomic>   // atomic
#include <csignal>  // SIGTERM, SIGINT

namespace tokamax::serve {

/// Listens from its construction on, and serves while a thread is in `run`. Thousands of streams take no more threads. There is no
/// TLS: a proxy in front of it has that.
class http_server {
 public:
  /// errors  tokamax::error of the kind `device` if nobody can listen there
  http_server(const server_options& options, http_handler handler)
      : acceptor_(host_->io), again_(host_->io), stop_at_(host_->io) {
    host_->options = options;
    host_->handler = std::move(handler);
    host_->when_closed = [this] { stop_if_done(); };
    boost::system::error_code e;
    const auto address = boost::asio::ip::make_address(options.address, e);
    if (!e) {
      const boost::asio::ip::tcp::endpoint at(address, options.port);
      acceptor_.open(at.protocol(), e);
      if (!e) acceptor_.set_option(boost::asio::socket_base::reuse_address(true), e);
      if (!e) acceptor_.bind(at, e);
      if (!e) acceptor_.listen(boost::asio::socket_base::max_listen_connections, e);
    }
    if (e)
      throw error(error_kind::device, "http_server: address", e.message(), "one to listen at",
                  options.address + ":" + std::to_string(options.port));
    port_ = acceptor_.local_endpoint().port();
    accept();
  }
  ~http_server() {
    host_->ended = host_->draining = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    close_all();
    host_->handler = nullptr;
    host_->when_closed = nullptr;
  }
  http_server(const http_server&) = delete;
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_; }

  /// Serves until `stop`, or until `drain` and the end of the last answer.
  void run() {
    host_->io.run();
    close_all();
  }
  /// Ends what runs, and refuses what comes. Any thread may call it.
  void drain() {
    boost::asio::post(host_->io, [this] { drain_now(); });
  }
  /// Ends all connections. Any thread may call it.
  void stop() { host_->io.stop(); }
  /// From now on SIGTERM or SIGINT drains, and the second one stops. `when_draining` is called at the first.
  void stop_by_signal(std::function<void()> when_draining = [] {}) {
    boost::system::error_code ignored;
    stop_at_.add(SIGTERM, ignored);
    stop_at_.add(SIGINT, ignored);
    wait_for_signal(std::move(when_draining));
  }

 private:
  void accept() {
    acceptor_.async_accept([this](boost::system::error_code e, boost::asio::ip::tcp::socket s) {
      if (host_->draining) return;
      if (e) {  // such as too many open files: not at once again
        again_.expires_after(std::chrono::milliseconds(50));
        again_.async_wait([this](boost::system::error_code) { accept(); });
        return;
      }
      boost::system::error_code ignored;
      s.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
      if (host_->open.size() < host_->options.most_connections) {
        auto c = std::make_shared<detail::connection>(std::move(s), host_);
        host_->open.insert(c);
        connections_ = host_->open.size();
        c->start();
      }  // or else the socket is closed here
      accept();
    });
  }
  void close_all() {
    for (auto open = host_->open; const auto& c : open) c->close();
    host_->io.restart();
    host_->io.poll();
  }
  void drain_now() {
    if (host_->draining) return;
    host_->draining = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (auto open = host_->open; const auto& c : open)
      if (!c->busy()) c->close();
    stop_if_done();
  }
  void stop_if_done() {
    connections_ = host_->open.size();
    if (host_->draining && host_->open.empty()) host_->io.stop();
  }
  void wait_for_signal(std::function<void()> when_draining) {
    stop_at_.async_wait([this, f = std::move(when_draining)](boost::system::error_code e, int) {
      if (e) return;
      if (host_->draining) return stop();
      f();
      drain_now();
      wait_for_signal([] {});
    });
  }

  std::shared_ptr<detail::connection_host> host_ = std::make_shared<detail::connection_host>();
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer again_;
  boost::asio::signal_set stop_at_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{host_->io.get_executor()};
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> connections_ = 0;
};

}  // namespace tokamax::serve
