// tests/core/memory/buffer.cpp: shared blocks, and the pool that hands them out again.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/memory/buffer.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <thread>
#include <vector>

using namespace tokamax;

TEST_CASE("handles count their owners") {
  handle a(buffer_pool::instance().allocate(100));
  CHECK(a.unique());
  {
    const handle b = a;
    CHECK(!a.unique());
    CHECK(b.get() == a.get());
  }
  CHECK(a.unique());
  handle c = std::move(a);
  CHECK(c.unique());
  CHECK(!handle());
}

TEST_CASE("a freed block is handed out again to what fits its size class") {
  const std::size_t sizes[] = {1, 256, 257, 1000, 4096, 5000, 100000, 3 << 20};
  for (const std::size_t n : sizes) {
    auto* block = buffer_pool::instance().allocate(n);
    CHECK(block->bytes >= n);
    CHECK(reinterpret_cast<std::uintptr_t>(block->data) % 64 == 0);
    std::byte* const data = block->data;
    { const handle h(block); }
    const std::size_t before = buffer_pool::instance().from_system();
    const handle again(buffer_pool::instance().allocate(n));
    CHECK(again->data == data);
    CHECK(buffer_pool::instance().from_system() == before);
  }
}

TEST_CASE("capacity exceeds what is asked for by a quarter at most") {
  for (std::size_t n = 300; n < 100000; n = n * 9 / 8) {
    const handle h(buffer_pool::instance().allocate(n));
    CHECK(h->bytes >= n);
    CHECK(h->bytes <= n + n / 4 + 64);
  }
}

TEST_CASE("the pool serves several threads") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        const handle h(buffer_pool::instance().allocate(static_cast<std::size_t>(64 + (i * 37 + t) % 3000)));
        h->data[0] = std::byte(t);
        const handle copy = h;
      }
    });
  for (auto& t : threads) t.join();
}

TEST_CASE("memory of many threads is bounded, and all of it is counted") {
  buffer_pool& pool = buffer_pool::instance();
  pool.trim();
  const std::size_t used = pool.used_bytes();
  std::vector<std::vector<handle>> all(40);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::vector<handle>> others(all.size());
    others.swap(all);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < all.size(); ++t)
      threads.emplace_back([&, t] {
        others[(t + 7) % all.size()].clear();  // another thread has made them
        for (std::size_t i = 0; i < 300; ++i) all[t].emplace_back(pool.allocate(64 + (i * 977 + t) % 60000));
        for (const handle& h : all[t]) h->data[h->bytes - 1] = std::byte(t);
      });
    for (std::thread& t : threads) t.join();
    std::size_t sum = 0;
    for (const auto& list : all)
      for (const handle& h : list) sum += h->bytes;
    CHECK(pool.used_bytes() - used == sum);
  }
  all.clear();
  CHECK(pool.used_bytes() == used);
  CHECK(pool.idle_bytes() > 0);
  pool.trim();
  CHECK(pool.idle_bytes() == 0);
}

TEST_CASE("idle memory goes back by itself above a share of what was in use, and all of it by trim") {
  buffer_pool& pool = buffer_pool::instance();
  pool.trim();
  CHECK(pool.idle_bytes() == 0);
  constexpr std::size_t mib = std::size_t{1} << 20;
  const std::size_t used = pool.used_bytes();
  for (const std::size_t n :
       {100, 200, 300, 400, 500}) {  // each freed before the next: never touched, so they cost nothing
    const handle h(pool.allocate(n * mib));
    CHECK(pool.used_bytes() - used >= n * mib);
  }
  CHECK(pool.used_bytes() == used);
  CHECK(pool.idle_bytes() <= 320 * mib);
  for (int i = 0; i < 600; ++i) const handle h(pool.allocate(1000));  // long ago now
  CHECK(pool.idle_bytes() <= 64 * mib);
  std::size_t before = 0;
  for (int step = 0; step < 10; ++step) {  // a step that holds nothing in between keeps its memory, too
    if (step == 3) before = pool.from_system();
    const handle a(pool.allocate(40 * mib)), b(pool.allocate(60 * mib)), c(pool.allocate(90 * mib));
  }
  CHECK(pool.from_system() == before);
  pool.trim();
  CHECK(pool.idle_bytes() == 0);
  const handle again(pool.allocate(1000));
  again->data[999] = std::byte(1);
}

TEST_CASE("the most bytes in use at once since somebody asked") {
  buffer_pool& pool = buffer_pool::instance();
  constexpr std::size_t mib = std::size_t{1} << 20;
  (void)pool.peak_bytes();
  const std::size_t before = pool.peak_bytes();
  {
    const handle a(pool.allocate(8 * mib));
    const handle b(pool.allocate(4 * mib));
  }
  { const handle c(pool.allocate(10 * mib)); }
  CHECK(pool.peak_bytes() == before + 12 * mib);
  CHECK(pool.peak_bytes() == before);
}

TEST_CASE("more memory than there is") {
  CHECK_THROWS_AS(buffer_pool::instance().allocate(std::size_t{1} << 60), std::bad_alloc);
  CHECK_THROWS_AS(buffer_pool::instance().allocate(~std::size_t{0}), std::bad_alloc);
  const handle h(buffer_pool::instance().allocate(1000));
  CHECK(h->bytes >= 1000);
}
