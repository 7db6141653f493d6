// tests/fuzz/http_requests.cpp: any bytes on a connection: each answer is one of HTTP, and the server goes on.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/server.hpp>

#include <sys/socket.h>

#include <thread>

#include "fuzz/fuzz.hpp"

namespace serve = tokamax::serve;

namespace {

// Answers whole, as a stream, or not at all.
void answer(serve::http_request r, const std::shared_ptr<serve::exchange>& to) {
  if (r.path == "/drop") return;
  if (r.path != "/stream") return to->answer(200, std::move(r.body));
  to->begin_events();
  to->put("data: " + r.query + "\n\n");
  to->end();
}

// What a client hears until the server closes. One that has sent all may say so, which is to leave.
std::string said_to(std::uint16_t port, std::string_view bytes, bool leaves) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket s(io);
  boost::system::error_code e;
  s.connect({boost::asio::ip::make_address("127.0.0.1"), port}, e);
  boost::asio::write(s, boost::asio::buffer(bytes.data(), bytes.size()), e);
  if (leaves) s.shutdown(boost::asio::ip::tcp::socket::shutdown_send, e);
  std::string text;
  char part[4096];
  while (const std::size_t n = s.read_some(boost::asio::buffer(part), e)) text.append(part, n);
  return text;
}

}  // namespace

void fuzz(std::string_view bytes) {
  static serve::http_server* const server = [] {
    const auto s = new serve::http_server({.port = 0, .most_header = 512, .most_body = 1024}, answer);
    std::thread([s] { s->run(); }).detach();
    return s;
  }();
  const std::string text = said_to(server->port(), bytes, true);
  if (!text.empty() && !text.starts_with("HTTP/1.1 ")) std::abort();
  static int count = 0;
  if (++count % 64 != 0) return;
  const std::string right = said_to(server->port(), "GET /stream?a HTTP/1.1\r\nConnection: close\r\n\r\n", false);
  if (right.find("data: a") == right.npos) std::abort();
}
