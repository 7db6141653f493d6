// tokamax/serve/http/server_options.hpp: where a server listens, and what it takes of its clients.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/server.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <chrono>   // milliseconds
#include <cstddef>  // size_t
#include <cstdint>  // uint16_t
#include <string>   // string

namespace tokamax::serve {

/// Limits are for memory and time: a client that sends or reads slowly, or not at all, is cut off.
struct server_options {
  std::string address = "127.0.0.1";  ///< 0.0.0.0 or :: for all
  std::uint16_t port = 8000;          ///< 0: any free one
  std::uint32_t most_header = 1 << 14;
  std::uint64_t most_body = 1 << 22;
  std::size_t most_unsent = 1 << 23;  ///< bytes that wait for a client that reads slowly
  std::size_t most_connections = 1024;
  std::chrono::milliseconds read_time{30'000};   ///< until a request is there, the wait for it included
  std::chrono::milliseconds write_time{30'000};  ///< until the client has taken what waits
};

}  // namespace tokamax::serve
