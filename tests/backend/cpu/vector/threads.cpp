// tests/backend/cpu/vector/threads.cpp: every chunk runs once, nesting is serial, errors and forks are survived, scratch is kept.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/threads.hpp>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

TEST_CASE("threads: each chunk runs exactly once") {
  for (int threads : {1, 2, 3}) {
    cpu_backend::set_num_threads(threads);
    for (std::int64_t n : {0, 1, 2, 7, 100}) {
      std::vector<int> runs(static_cast<std::size_t>(n));
      cpu_backend::parallel_for(n, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
      CHECK(runs == std::vector<int>(static_cast<std::size_t>(n), 1));
    }
  }
  cpu_backend::set_num_threads(0);
  CHECK(cpu_backend::num_threads() >= 1);
}

TEST_CASE("threads: a free thread takes over what a busy one has not begun") {
  cpu_backend::set_num_threads(2);
  if (cpu_backend::num_threads() < 2) return;  // built without threads
  std::atomic<int> others = 0;
  cpu_backend::parallel_for(8, [&](std::int64_t i) {
    if (i > 0) ++others;
    while (i == 0 && others < 7) std::this_thread::yield();  // for ever, if its own range waits for it
  });
  CHECK(others == 7);
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: a loop that names a number of threads has no more, whatever the limit is") {
  cpu_backend::set_num_threads(8);
  for (const int threads : {1, 2, 3})
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> beyond = 0, runs = 0;
      const auto chunk = [&](std::int64_t) {
        ++runs;
        if (cpu_backend::thread_index() >= threads) ++beyond;
        std::this_thread::yield();
      };
      cpu_backend::parallel_for(64, chunk, threads);
      CHECK(runs == 64);
      CHECK(beyond == 0);
    }
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: a loop inside a loop is serial") {
  cpu_backend::set_num_threads(2);
  int inner[2] = {};
  cpu_backend::parallel_for(2, [&](std::int64_t i) {
    inner[i] = cpu_backend::num_threads();
    cpu_backend::parallel_for(3, [&](std::int64_t) { inner[i] += 10; });
  });
  CHECK(inner[0] == 31);
  CHECK(inner[1] == 31);
  cpu_backend::set_num_threads(0);
}

TEST_CASE("what a chunk throws reaches the caller, and the next loop runs") {
  for (int threads : {1, 2, 3}) {
    cpu_backend::set_num_threads(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> begun = 0;
      const auto throws = [&](std::int64_t i) {
        ++begun;
        if (i % 7 == round % 7) throw std::runtime_error("chunk");
      };
      CHECK_THROWS_AS(cpu_backend::parallel_for(100, throws), std::runtime_error);
      CHECK(begun <= 100);
      std::atomic<int> runs = 0;
      cpu_backend::parallel_for(50, [&](std::int64_t) { ++runs; });
      CHECK(runs == 50);
    }
  }
  cpu_backend::set_num_threads(0);
  CHECK_THROWS_AS(cpu_backend::scratch<struct too_large>(std::int64_t{1} << 60), std::bad_alloc);
  CHECK(cpu_backend::scratch<struct too_large>(10) != nullptr);
}

TEST_CASE("threads: several callers at once") {
  cpu_backend::set_num_threads(3);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum = 0;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) cpu_backend::parallel_for(5, [&](std::int64_t i) { sum += i; });
    });
  for (std::thread& t : callers) t.join();
  CHECK(sum == 4 * 500 * 10);
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: loops of two callers have workers at the same time") {
  cpu_backend::set_num_threads(2);
  const bool together = cpu_backend::num_threads() > 1;
  std::atomic<int> at_once = 0, beyond = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 2; ++t)
    callers.emplace_back([&] {
      const cpu_backend::thread_team team(2);
      for (int round = 1; round <= 200; ++round)
        cpu_backend::parallel_for(2, [&](std::int64_t) {
          if (cpu_backend::thread_index() > 1) ++beyond;
          for (++at_once; together && at_once < 4 * round;) std::this_thread::yield();  // for ever, if one loop waits
        });
    });
  for (std::thread& t : callers) t.join();
  CHECK(at_once == 4 * 200);
  CHECK(beyond == 0);
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: loops without threads of their own share the limit") {
  cpu_backend::set_num_threads(2);
  if (cpu_backend::num_threads() < 2) return;  // built without threads
  std::atomic<int> inside = 0, second = 0;
  std::atomic<bool> stop = false;
  std::thread first([&] {  // has both threads
    cpu_backend::parallel_for(2, [&](std::int64_t) {
      for (++inside; !stop;) std::this_thread::yield();
    });
  });
  while (inside < 2) std::this_thread::yield();
  const auto here = std::this_thread::get_id();
  cpu_backend::parallel_for(64, [&](std::int64_t) {
    second += std::this_thread::get_id() == here;
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // so that another thread would come
  });
  CHECK(second == 64);
  stop = true;
  first.join();
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: a thread may have a number of its own") {
  cpu_backend::set_num_threads(2);
  const int most = cpu_backend::num_threads();
  {
    const cpu_backend::thread_team one(1);
    CHECK(cpu_backend::num_threads() == 1);
    {
      const cpu_backend::thread_team same(0), five(5);
      CHECK(cpu_backend::num_threads() == (most > 1 ? 5 : 1));
    }
    CHECK(cpu_backend::num_threads() == 1);
    std::thread([&] { CHECK(cpu_backend::num_threads() == most); }).join();
  }
  CHECK(cpu_backend::num_threads() == most);
  cpu_backend::set_num_threads(0);
}

// ThreadSanitizer ends a child that makes threads.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child has threads of its own") {
  cpu_backend::set_num_threads(2);
  const bool together = cpu_backend::num_threads() > 1;
  std::atomic<bool> stop = false;
  std::thread busy([&] {  // another thread has the workers when the process forks
    while (!stop) cpu_backend::parallel_for(8, [](std::int64_t) {});
  });
  for (int round = 0; round < 20; ++round) {
    cpu_backend::parallel_for(8, [](std::int64_t) {});
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<int> runs = 0, at_once = 0;
      for (int i = 0; i < 3; ++i)
        cpu_backend::parallel_for(2, [&](std::int64_t) {
          ++runs;
          for (++at_once; together && at_once < 2 * (i + 1);) std::this_thread::yield();  // for ever, by one thread
        });
      _exit(runs == 6 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  stop = true;
  busy.join();
  cpu_backend::set_num_threads(0);
}
#endif

namespace {
struct first_tag;
struct second_tag;
}  // namespace

TEST_CASE("threads: scratch of a step goes back to the pool at its end, and that of helpers when they find no work") {
  tokamax::buffer_pool& pool = tokamax::buffer_pool::instance();
  cpu_backend::set_num_threads(2);
  const bool together = cpu_backend::num_threads() > 1;
  const std::size_t used = pool.used_bytes(), mib = std::size_t{1} << 20;
  for (int step = 0; step < 3; ++step) {
    const tokamax::step_scratch lent;
    cpu_backend::scratch<struct of_step>(1 << 20)[5] = 1;
    std::atomic<int> inside = 0, measured = 0;
    std::atomic<std::size_t> most = 0;
    cpu_backend::parallel_for(2, [&](std::int64_t) {
      cpu_backend::scratch<struct of_chunk>(1 << 20)[5] = 1;
      for (++inside; together && inside < 2;) std::this_thread::yield();
      most = pool.used_bytes();
      for (++measured; together && measured < 2;) std::this_thread::yield();
    });
    CHECK(most >= used + (together ? 12 : 8) * mib);
  }
  while (pool.used_bytes() > used) std::this_thread::yield();  // for ever, if a helper keeps it
  CHECK(pool.used_bytes() == used);
  cpu_backend::set_num_threads(0);
}

TEST_CASE("threads: scratch grows, stays, and is aligned") {
  float* small = cpu_backend::scratch<first_tag>(10);
  CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  CHECK(cpu_backend::scratch<first_tag>(5) == small);
  CHECK(cpu_backend::scratch<second_tag>(5) != small);
  float* large = cpu_backend::scratch<first_tag>(1 << 20);
  large[(1 << 20) - 1] = 1.0f;
  CHECK(cpu_backend::scratch<first_tag>(7) == large);
}
