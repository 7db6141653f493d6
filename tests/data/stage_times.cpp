// tests/data/stage_times.cpp: the stage that takes the time is named, and what is measured stays as it is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/stage_times.hpp>

#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/stream/filter.hpp>
#include <tokamax/data/stream/repeat.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::data;

namespace {
auto wait(int milliseconds) {
  return map([=](std::int64_t x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return x;
  });
}
}  // namespace

TEST_CASE("the slow stage is the bottleneck") {
  const stage_times times;
  CHECK(times.text() == "No element was read.\n");
  const auto rows = range(20) | wait(1) | times.after("read") | wait(5) | times.after("parse") | repeat(1) |
                    filter([](std::int64_t x) { return x % 2 == 0; }) | times.after("choose");
  std::int64_t sum = 0;
  for (auto reader = rows.from(); const auto& [step, value] : reader) sum += value;
  CHECK(sum == 90);
  const auto parts = times.parts();
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].elements == 20);
  CHECK(parts[2].elements == 10);
  CHECK(parts[1].seconds >= 0.1);
  CHECK(parts[1].seconds > parts[0].seconds);
  CHECK(parts[2].seconds < parts[0].seconds);
  CHECK_THAT(times.text(), contains("The bottleneck is parse, which takes ") && contains("read: 20 elements"));
}

TEST_CASE("threads add up, and behind a prefetch is the time of waiting") {
  const stage_times times;
  const auto rows = range(16) | wait(4) | times.after("work") | repeat(1) | prefetch({.threads = 4, .elements = 8}) |
                    times.after("wait");
  std::vector<std::int64_t> all;
  for (auto reader = rows.from(); const auto& [step, value] : reader) all.push_back(value);
  CHECK(all.size() == 16);
  CHECK(std::ranges::is_sorted(all));
  const auto parts = times.parts();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].seconds >= 16 * 0.004);
  CHECK(parts[1].seconds < parts[0].seconds);
}
