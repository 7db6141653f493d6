// tests/runtime/program/program_cache.cpp: threads that need one new value wait for one maker, and nobody waits in a circle.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/program/program_cache.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

namespace {

struct asks_for {
  int wanted;
  bool operator()(int value) const { return value == wanted; }
  bool same(const asks_for& others) const { return wanted == others.wanted; }
};
using cache = tokamax::detail::program_cache<int>;

constexpr int callers = 8;

/// Runs f(t) on 8 threads at the same time.
template <class F>
void on_threads(const F& f) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < callers; ++t)
    all.emplace_back([&, t] {
      for (++ready; ready < callers;) std::this_thread::yield();
      f(t);
    });
  for (std::thread& t : all) t.join();
}
void wait_for(const std::atomic<int>& count, int least) {
  while (count < least) std::this_thread::yield();
}

}  // namespace

TEST_CASE("eight threads that need one new value make it once") {
  cache values;
  std::atomic<int> made = 0, asked = 0;
  std::vector<std::shared_ptr<int>> found(callers);
  on_threads([&](int t) {
    ++asked;
    found[static_cast<std::size_t>(t)] = values.find_or_make(7, asks_for{1}, [&] {
      ++made;
      wait_for(asked, callers);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return std::make_shared<int>(1);
    });
  });
  CHECK(made == 1);
  for (const auto& value : found) CHECK(value == found[0]);
  CHECK(values.size() == 1);
}

TEST_CASE("all threads get a value that is not kept") {
  cache values;
  values.set_capacity(1);
  std::atomic<int> asked = 0, right = 0;
  on_threads([&](int t) {
    ++asked;
    const auto value = values.find_or_make(static_cast<std::uint64_t>(t % 4), asks_for{t % 4}, [&] {
      wait_for(asked, callers);
      return std::make_shared<int>(t % 4);
    });
    right += *value == t % 4;
  });
  CHECK(right == callers);
  CHECK(values.size() == 1);
}

TEST_CASE("an error of the maker reaches all threads that wait, and the next one tries again") {
  cache values;
  std::atomic<int> made = 0, asked = 0, thrown = 0;
  std::vector<std::exception_ptr> errors(callers);
  on_threads([&](int t) {
    ++asked;
    try {
      values.find_or_make(7, asks_for{1}, [&]() -> std::shared_ptr<int> {
        ++made;
        wait_for(asked, callers);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        throw std::runtime_error("no such value");
      });
    } catch (const std::runtime_error& e) {
      thrown += std::string(e.what()) == "no such value";
      errors[static_cast<std::size_t>(t)] = std::current_exception();
    }
  });
  CHECK(made == 1);
  CHECK(thrown == callers);
  CHECK(values.size() == 0);
  CHECK(*values.find_or_make(7, asks_for{1}, [] { return std::make_shared<int>(1); }) == 1);
}

TEST_CASE("values with one hash are made at the same time") {
  cache values;
  std::atomic<int> inside = 0, right = 0;
  on_threads([&](int t) {
    const auto value = values.find_or_make(7, asks_for{t}, [&] {
      ++inside;
      wait_for(inside, callers);  // for ever, if one maker waits for another
      return std::make_shared<int>(t);
    });
    right += *value == t;
  });
  CHECK(right == callers);
  CHECK(values.size() == callers);
}

TEST_CASE("a maker that needs the same value, or what waits for it, makes another") {
  cache values, others;
  int depth = 0;
  const auto nested = [&](const auto& self) -> std::shared_ptr<int> {
    if (++depth < 3) CHECK(*values.find_or_make(1, asks_for{1}, [&] { return self(self); }) == 1);
    return std::make_shared<int>(1);
  };
  const auto value = values.find_or_make(1, asks_for{1}, [&] { return nested(nested); });
  CHECK(depth == 3);
  CHECK(values.size() == 1);
  CHECK(value == values.find(1, asks_for{1}));

  std::atomic<int> inside = 0, right = 0;
  on_threads([&](int t) {
    cache &first = t % 2 ? values : others, &second = t % 2 ? others : values;
    const auto mine = first.find_or_make(2, asks_for{2}, [&] {
      ++inside;
      wait_for(inside, 2);  // threads that make the value of both caches
      right += *second.find_or_make(2, asks_for{2}, [] { return std::make_shared<int>(2); }) == 2;
      return std::make_shared<int>(2);
    });
    right += *mine == 2;
  });
  CHECK(right == callers + inside);
}

// ThreadSanitizer ends a child that makes threads.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a child that is forked while a thread makes a value makes its own") {
  cache values;
  std::atomic<int> inside = 0, leave = 0;
  std::thread maker([&] {
    values.find_or_make(1, asks_for{1}, [&] {
      ++inside;
      wait_for(leave, 1);
      return std::make_shared<int>(1);
    });
  });
  wait_for(inside, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int right = 0;
    for (int i = 0; i < 2; ++i)
      std::thread([&] {
        right += *values.find_or_make(1, asks_for{1}, [] { return std::make_shared<int>(1); });
      }).join();
    _exit(right == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  ++leave;
  maker.join();
}
#endif
