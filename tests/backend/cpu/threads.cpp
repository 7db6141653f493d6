// tests/backend/cpu/threads.cpp: every chunk runs once, nesting is serial, scratch is kept.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/threads.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace simd = tokamax::simd;

TEST_CASE("threads: each chunk runs exactly once") {
  for (int threads : {1, 2, 3}) {
    simd::set_num_threads(threads);
    for (std::int64_t n : {0, 1, 2, 7, 100}) {
      std::vector<int> fixed(static_cast<std::size_t>(n)), free_order(static_cast<std::size_t>(n));
      simd::parallel_for(n, [&](std::int64_t i) { ++fixed[static_cast<std::size_t>(i)]; });
      simd::parallel_for_dynamic(n, [&](std::int64_t i) { ++free_order[static_cast<std::size_t>(i)]; });
      CHECK(fixed == std::vector<int>(static_cast<std::size_t>(n), 1));
      CHECK(free_order == fixed);
    }
  }
  simd::set_num_threads(0);
  CHECK(simd::num_threads() >= 1);
}

TEST_CASE("threads: a free thread takes over what a busy one has not begun") {
  simd::set_num_threads(2);
  if (simd::num_threads() < 2) return;  // built without threads
  std::atomic<int> others = 0;
  simd::parallel_for_dynamic(8, [&](std::int64_t i) {
    if (i > 0) ++others;
    while (i == 0 && others < 7) std::this_thread::yield();  // for ever, if its own range waits for it
  });
  CHECK(others == 7);
  simd::set_num_threads(0);
}

TEST_CASE("threads: a loop inside a loop is serial") {
  simd::set_num_threads(2);
  int inner[2] = {};
  simd::parallel_for(2, [&](std::int64_t i) {
    inner[i] = simd::num_threads();
    simd::parallel_for(3, [&](std::int64_t) { inner[i] += 10; });
  });
  CHECK(inner[0] == 31);
  CHECK(inner[1] == 31);
  simd::set_num_threads(0);
}

namespace {
struct first_tag;
struct second_tag;
}  // namespace

TEST_CASE("threads: scratch grows, stays, and is aligned") {
  float* small = simd::scratch<first_tag>(10);
  CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  CHECK(simd::scratch<first_tag>(5) == small);
  CHECK(simd::scratch<second_tag>(5) != small);
  float* large = simd::scratch<first_tag>(1 << 20);
  large[(1 << 20) - 1] = 1.0f;
  CHECK(simd::scratch<first_tag>(7) == large);
}
