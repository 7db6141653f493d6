// tokamax/serve/http/exchange.hpp: a request of HTTP, and where its answer goes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/server.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <functional>   // function
#include <memory>       // shared_ptr
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::serve {

/// A request as it came, whole and within the limits of the server.
struct http_request {
  std::string method, path, query, body;
  std::string authorization;  ///< the field of that name
};

/// Where the answer to one request goes: either `answer`, or `begin_events`, any number of `put` and `end`. Any thread may call it, and
/// calls after the client has left do nothing. One that is dropped before its end answers 500, or cuts the stream.
class exchange {
 public:
  virtual ~exchange() = default;
  virtual void answer(int code, std::string body, std::string_view type = "application/json") = 0;
  /// Begins a stream of server-sent events.
  virtual void begin_events() = 0;
  virtual void put(std::string bytes) = 0;
  virtual void end() = 0;
  /// Calls f once if the client leaves before the end, on another thread perhaps, or now if it has left.
  virtual void when_gone(std::function<void()> f) = 0;
};

/// Takes a request. It is called on the thread of the server, so it does not wait.
using http_handler = std::function<void(http_request, std::shared_ptr<exchange>)>;

}  // namespace tokamax::serve
