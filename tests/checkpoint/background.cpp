// tests/checkpoint/background.cpp: jobs on another thread, their order, their errors and their deadline.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/background.hpp>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

using tokamax::checkpoint::background;
using namespace std::chrono_literals;

TEST_CASE("jobs run one after the other, and their memory is free when they have ended") {
  std::vector<int> order;
  auto held = std::make_shared<int>(1);
  {
    background jobs(60s);
    for (int i = 0; i < 20; ++i) jobs.start([&order, i, held] { order.push_back(i + *held - 1); });
    jobs.wait();
    CHECK(held.use_count() == 1);
    CHECK_FALSE(jobs.is_busy());
    jobs.start([&] { order.push_back(20); });
  }
  REQUIRE(order.size() == 21);
  for (int i = 0; i <= 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("an error is thrown once, and the job of that call does not run") {
  background jobs(60s);
  std::atomic<int> ran = 0;
  jobs.start([] { throw std::runtime_error("no room"); });
  CHECK_THROWS_WITH(jobs.start([&] { ++ran; }), contains("no room"));
  jobs.wait();
  CHECK(ran == 0);
  jobs.start([] { throw 7; });
  CHECK_THROWS_AS(jobs.wait(), int);
  jobs.start([&] { ++ran; });
  jobs.wait();
  CHECK(ran == 1);
}

TEST_CASE("a job that hangs is not waited for beyond the deadline") {
  auto open = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::atomic<bool>>(false);
  {
    background jobs(0s);
    jobs.start([open, ended] {
      open->get_future().wait();
      *ended = true;
    });
    CHECK(jobs.is_busy());
    CHECK_THROWS_WITH(jobs.wait(), contains("one at work after 0 s"));
    CHECK_THROWS_WITH(jobs.start([] {}), contains("background"));
  }
  CHECK_FALSE(*ended);
  open->set_value();
  while (!*ended) std::this_thread::yield();
}
