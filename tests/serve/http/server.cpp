// tests/serve/http/server.cpp: sockets: requests whole and broken, slow clients, clients that leave, many streams, and how a server ends.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/server.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

using namespace tokamax;
using namespace std::chrono_literals;

namespace {

// A server in a thread, which ends with it.
struct running {
  serve::http_server server;
  std::thread thread{[this] { server.run(); }};
  running(serve::server_options o, serve::http_handler h) : server((o.port = 0, o), std::move(h)) {}
  ~running() {
    server.stop();
    thread.join();
  }
};

// A client that writes what it is told and reads until the server closes, or until `until` was read.
struct client {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket{io};
  std::string rest;
  explicit client(const running& to) {
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), to.server.port()});
    timeval wait{20, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  }
  void send(std::string_view text) {
    boost::system::error_code ignored;
    boost::asio::write(socket, boost::asio::buffer(text), ignored);
  }
  std::string read(std::string_view until = "\xff") {
    for (;;) {
      if (const auto at = rest.find(until); at != rest.npos) {
        const std::string text = rest.substr(0, at + until.size());
        rest.erase(0, text.size());
        return text;
      }
      char bytes[4096];
      const auto n = ::recv(socket.native_handle(), bytes, sizeof bytes, 0);
      if (n <= 0) return std::exchange(rest, {});
      rest.append(bytes, static_cast<std::size_t>(n));
    }
  }
};

void echo(serve::http_request r, const std::shared_ptr<serve::exchange>& to) {
  if (r.path == "/throws") throw std::runtime_error("a fault");
  if (r.path == "/drops") return;
  if (r.path == "/stream" || r.path == "/cut") {
    to->begin_events();
    for (int i = 0; i < 3; ++i) to->put("data: " + std::to_string(i) + "\n\n");
    if (r.path == "/stream") to->end();
    return;
  }
  to->answer(200, r.method + " " + r.path + " " + r.query + " " + r.authorization + " " + r.body, "text/plain");
}
const std::string get = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";

bool soon(const auto& f) {
  for (int i = 0; i < 2000; ++i, std::this_thread::sleep_for(5ms))
    if (f()) return true;
  return false;
}

}  // namespace

TEST_CASE("A server answers requests, one after another") {
  running s({}, echo);
  client c(s);
  c.send(get);
  CHECK(c.read("GET /a b=c  ") ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nGET /a b=c "
        " ");
  c.send("POST /p HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Length: 3\r\n\r\nabc");
  CHECK_THAT(c.read("Bearer k abc"), contains("200 OK"));
  c.send("POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  CHECK_THAT(c.read("  abc"), contains("200 OK"));
  c.send("POST /p HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  CHECK(c.read("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("abc");
  CHECK_THAT(c.read("  abc"), contains("200 OK"));
  c.send(get + get + get);  // without waiting
  for (int i = 0; i < 3; ++i) CHECK_THAT(c.read("GET /a b=c  "), contains("200 OK"));
  c.send("HEAD /h HTTP/1.1\r\n\r\n" + get);
  CHECK_THAT(c.read("\r\n\r\n"), contains("Content-Length: 9\r\n"));
  CHECK_THAT(c.read("GET /a b=c  "), contains("200 OK"));
  c.send("GET /throws HTTP/1.1\r\n\r\n");
  CHECK_THAT(c.read("}}"), contains("500 Internal Server Error") && contains("a fault"));
  c.send("GET /drops HTTP/1.1\r\n\r\n");
  CHECK_THAT(c.read("}}"), contains("500 Internal Server Error"));
  c.send("GET /stream HTTP/1.1\r\n\r\n");
  CHECK_THAT(c.read("0\r\n\r\n"),
             contains("Content-Type: text/event-stream") && contains("\r\nTransfer-Encoding: chunked\r\n") &&
                 contains("\r\n\r\n9\r\ndata: 0\n\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
  c.send("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  CHECK_THAT(c.read(), contains("Connection: close"));
  client old(s);  // HTTP/1.0 has no chunks: the end of the stream is that of the connection
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  CHECK_THAT(old.read(), contains("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n") && !contains("chunked"));
  client cut(s);
  cut.send("GET /cut HTTP/1.1\r\n\r\n");
  CHECK_THAT(cut.read(), contains("data: 2") && !contains("0\r\n\r\n"));
}

TEST_CASE("Broken requests are refused, and the next one is answered") {
  running s({.most_header = 2048, .most_body = 1000, .read_time = 300ms}, echo);
  const struct {
    std::string sent;
    int status;  // 0: the connection ends without a word
    bool leaves = false;
  } rows[] = {
      {"", 0},
      {"\r\n\r\n\r\n", 400},
      {"nonsense\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n" + std::string(100'000, 'a'), 413},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" + std::string(0x800, 'a') + "\r\n0\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET / HTTP/1.1\r\nA: " + std::string(5000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nHost", 408},
      {"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc", 408},
      {"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc", 400, true},
      {"\x16\x03\x01\x02\x01\xff\xfe\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), 400}};
  for (const auto& row : rows) {
    INFO(row.sent.substr(0, 80));
    client c(s);
    c.send(row.sent);
    if (row.leaves) c.socket.shutdown(boost::asio::socket_base::shutdown_send);
    const std::string answer = c.read();
    if (row.status == 0) {
      CHECK(answer == "");
    } else {
      CHECK_THAT(answer, contains("HTTP/1.1 " + std::to_string(row.status) + " ") &&
                             contains("{\"error\":{\"message\":") && contains("Connection: close"));
    }
    client next(s);
    next.send(get);
    CHECK_THAT(next.read("GET /a b=c  "), contains("200 OK"));
  }
  CHECK(soon([&] { return s.server.connections() == 0; }));
}

TEST_CASE("Clients that leave, do not read, or are too many") {
  std::atomic<int> gone = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<serve::exchange>> held;
  running s({.most_unsent = 100'000, .most_connections = 8, .write_time = 300ms},
            [&](serve::http_request r, std::shared_ptr<serve::exchange> to) {
              if (r.path != "/held") return echo(std::move(r), to);
              to->when_gone([&] { ++gone; });
              if (r.query == "stream") to->begin_events();
              const std::lock_guard lock(mutex);
              held.push_back(std::move(to));
            });
  const auto held_count = [&] {
    const std::lock_guard lock(mutex);
    return held.size();
  };
  const auto hold = [&](client& c, const char* query) {
    const std::size_t before = held_count();
    c.send("GET /held?" + std::string(query) + " HTTP/1.1\r\n\r\n");
    REQUIRE(soon([&] { return held_count() == before + 1; }));
  };
  for (const char* query : {"", "stream"}) {
    const int before = gone;
    {
      client c(s);
      hold(c, query);
    }
    CHECK(soon([&] { return gone == before + 1; }));
    held.back()->put("data: late\n\n");  // nobody reads it
    held.back()->end();
  }
  client stays(s);
  hold(stays, "stream");
  stays.send(get);  // the next request waits for the end of this one
  held.back()->put("data: 1\n\n");
  held.back()->end();
  CHECK_THAT(stays.read("GET /a b=c  "), contains("data: 1") && contains("0\r\n\r\nHTTP/1.1 200 OK"));
  const int before = gone;
  client deaf(s);  // it never reads
  hold(deaf, "stream");
  for (int i = 0; i < 2000 && gone == before; ++i) {
    held.back()->put(std::string(10'000, 'x'));
    std::this_thread::sleep_for(1ms);
  }
  CHECK(soon([&] { return gone == before + 1; }));
  held.clear();
  std::vector<std::unique_ptr<client>> many;
  CHECK(soon([&] { return s.server.connections() <= 1; }));
  for (int i = 0; i < 7; ++i) {
    many.push_back(std::make_unique<client>(s));
    many.back()->send(get);
    CHECK_THAT(many.back()->read("GET /a b=c  "), contains("200 OK"));
  }
  client one_more(s);
  one_more.send(get);
  CHECK(one_more.read() == "");
}

TEST_CASE("Two hundred streams take one thread") {
  std::mutex mutex;
  std::vector<std::shared_ptr<serve::exchange>> held;
  running s({}, [&](serve::http_request, std::shared_ptr<serve::exchange> to) {
    to->begin_events();
    const std::lock_guard lock(mutex);
    held.push_back(std::move(to));
  });
  std::vector<std::unique_ptr<client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<client>(s));
    clients.back()->send(get);
  }
  REQUIRE(soon([&] {
    const std::lock_guard lock(mutex);
    return held.size() == 200;
  }));
  for (int round = 0; round < 20; ++round)
    for (const auto& to : held) to->put("data: " + std::to_string(round) + "\n\n");
  for (const auto& to : held) to->end();
  for (const auto& c : clients) CHECK_THAT(c->read("0\r\n\r\n"), contains("data: 0") && contains("data: 19"));
}

TEST_CASE("A server drains: what runs ends whole, and nothing else begins") {
  std::mutex mutex;
  std::vector<std::shared_ptr<serve::exchange>> held;
  serve::http_server server({.port = 0}, [&](serve::http_request, std::shared_ptr<serve::exchange> to) {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(to));
  });
  std::thread thread([&] { server.run(); });
  boost::asio::io_context io;
  const auto connect = [&](boost::asio::ip::tcp::socket& to) {
    boost::system::error_code e;
    to.connect({boost::asio::ip::make_address("127.0.0.1"), server.port()}, e);
    return !e;
  };
  boost::asio::ip::tcp::socket works(io), idles(io), late(io);
  REQUIRE((connect(works) && connect(idles)));
  boost::asio::write(works, boost::asio::buffer(get));
  REQUIRE(soon([&] {
    const std::lock_guard lock(mutex);
    return held.size() == 1 && server.connections() == 2;
  }));
  server.drain();
  CHECK(soon([&] { return server.connections() == 1; }));
  CHECK_FALSE(connect(late));
  held[0]->answer(200, "whole");
  std::string answer;
  boost::system::error_code e;
  boost::asio::read(works, boost::asio::dynamic_buffer(answer), e);
  CHECK_THAT(answer, contains("200 OK") && contains("whole"));
  works.close();
  thread.join();  // the last answer was the end
  CHECK(server.connections() == 0);
  const serve::server_options nowhere{.address = "203.0.113.1"};
  CHECK_THAT(test::error_of([&] { serve::http_server other(nowhere, echo); }),
             contains("http_server: address") && contains("203.0.113.1:8000"));
  CHECK_THAT(test::error_of([&] { serve::http_server other({.address = "moon"}, echo); }),
             contains("http_server: address"));
}

TEST_CASE("An exchange may outlive its server, and its calls do nothing then") {
  std::shared_ptr<serve::exchange> held;
  std::atomic<int> gone = 0;
  {
    std::atomic<bool> here = false;
    running s({}, [&](serve::http_request, std::shared_ptr<serve::exchange> to) {
      to->when_gone([&gone] { ++gone; });
      held = std::move(to);
      here = true;
    });
    client c(s);
    c.send(get);
    REQUIRE(soon([&] { return here.load(); }));
  }
  CHECK(gone == 1);
  held->begin_events();
  held->put("data: 1\n\n");
  held->answer(200, "late");
  held->end();
  held->when_gone([&gone] { ++gone; });
  CHECK(gone == 2);
}
