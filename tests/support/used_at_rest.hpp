// tests/support/used_at_rest.hpp: memory in use when no thread helps with a loop any more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/memory/buffer_pool.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tokamax::test {

/// The bytes of the host's pool that are in use: the least number seen in 50 ms, because a thread that has helped with a loop
/// gives its scratch back when it finds no more work.
inline std::size_t used_at_rest() {
  std::size_t least = buffer_pool::instance().used_bytes();
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    least = std::min(least, buffer_pool::instance().used_bytes());
  }
  return least;
}

}  // namespace tokamax::test
