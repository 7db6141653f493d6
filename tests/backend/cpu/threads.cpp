// tests/backend/cpu/threads.cpp: every chunk runs once, nesting is serial, scratch is kept.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/threads.hpp>

#include <vector>

#include "support/catch.hpp"

namespace cpu = tokamax::cpu;

TEST_CASE("threads: each chunk runs exactly once") {
  for (int threads : {1, 2, 3}) {
    cpu::set_num_threads(threads);
    for (std::int64_t n : {0, 1, 2, 7, 100}) {
      std::vector<int> fixed(static_cast<std::size_t>(n)), free_order(static_cast<std::size_t>(n));
      cpu::parallel_for(n, [&](std::int64_t i) { ++fixed[static_cast<std::size_t>(i)]; });
      cpu::parallel_for_dynamic(n, [&](std::int64_t i) { ++free_order[static_cast<std::size_t>(i)]; });
      CHECK(fixed == std::vector<int>(static_cast<std::size_t>(n), 1));
      CHECK(free_order == fixed);
    }
  }
  cpu::set_num_threads(0);
  CHECK(cpu::num_threads() >= 1);
}

TEST_CASE("threads: a loop inside a loop is serial") {
  cpu::set_num_threads(2);
  int inner[2] = {};
  cpu::parallel_for(2, [&](std::int64_t i) {
    inner[i] = cpu::num_threads();
    cpu::parallel_for(3, [&](std::int64_t) { inner[i] += 10; });
  });
  CHECK(inner[0] == 31);
  CHECK(inner[1] == 31);
  cpu::set_num_threads(0);
}

namespace {
struct first_tag;
struct second_tag;
}  // namespace

TEST_CASE("threads: scratch grows, stays, and is aligned") {
  float* small = cpu::scratch<first_tag>(10);
  CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  CHECK(cpu::scratch<first_tag>(5) == small);
  CHECK(cpu::scratch<second_tag>(5) != small);
  float* large = cpu::scratch<first_tag>(1 << 20);
  large[(1 << 20) - 1] = 1.0f;
  CHECK(cpu::scratch<first_tag>(7) == large);
}
