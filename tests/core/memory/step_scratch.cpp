// tests/core/memory/step_scratch.cpp: what the kernels of a step borrow goes back to the pool at its end, and not before.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/memory/step_scratch.hpp>

#include "support/catch.hpp"

#include <new>
#include <thread>

using namespace tokamax;

namespace {
std::size_t used() { return buffer_pool::instance().used_bytes(); }
}  // namespace

TEST_CASE("scratch memory grows, stays, and is given back") {
  const std::size_t before = used();
  {
    scratch_memory m;
    std::byte* const small = m.grow(10);
    CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
    CHECK(m.grow(5) == small);
    m.grow(1 << 20)[(1 << 20) - 1] = std::byte{1};
    CHECK(used() >= before + (1 << 20));
    CHECK(used() <= before + 2 * (1 << 20));  // the small piece went back
    CHECK_THROWS_AS(m.grow(~std::size_t{0}), std::bad_alloc);
    CHECK(used() == before);
    CHECK(m.grow(0) != nullptr);
  }
  CHECK(used() == before);
}

TEST_CASE("steps give back what they borrowed, and inner steps nothing else") {
  const std::size_t before = used();
  static thread_local lent_memory outer, inner;
  {
    const step_scratch step;
    outer.grow(1000)[0] = std::byte{7};
    const std::size_t one = used();
    for (int round = 0; round < 3; ++round) {
      const step_scratch body;
      inner.grow(5000);
      CHECK(used() > one);
      CHECK(outer.grow(1000)[0] == std::byte{7});
    }
    CHECK(used() == one);
    CHECK(outer.grow(1000)[0] == std::byte{7});
    {
      const step_scratch body;
      outer.grow(100000);  // still the outer step's
    }
    CHECK(used() > before + 100000);
  }
  CHECK(used() == before);
  {
    const step_scratch step;
    CHECK_THROWS_AS(outer.grow(~std::size_t{0}), std::bad_alloc);
    inner.grow(1);
  }
  CHECK(used() == before);
}

TEST_CASE("memory that is borrowed outside of steps stays with its thread") {
  const std::size_t before = used();
  std::thread([&] {
    static thread_local lent_memory kept;
    std::byte* const data = kept.grow(300);
    { const step_scratch step; }
    CHECK(kept.grow(300) == data);
    CHECK(used() > before);
  }).join();
  CHECK(used() == before);
}
