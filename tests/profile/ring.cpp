// tests/profile/ring.cpp: a ring has the last records of its thread, whole, also for those who read it meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/ring.hpp>

#include <atomic>
#include <thread>

#include "support/catch.hpp"

namespace {
using tokamax::profile::record;
using tokamax::profile::ring;

record numbered(std::int64_t i) {
  return {i, 2 * i, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(3 * i), static_cast<double>(i)};
}
bool is_whole(const record& r) {
  const record e = numbered(r.begin);
  return r.end == e.end && r.table == e.table && r.step == e.step && r.value == e.value;
}
}  // namespace

TEST_CASE("a ring keeps as many records as fit, in their order") {
  CHECK(ring(0).capacity() == 1);
  CHECK(ring(32 * 9).capacity() == 8);
  const std::int64_t count = GENERATE(0, 1, 7, 8, 9, 1000, 10'000'000), from = GENERATE(0, 5, 999);
  ring all(32 * 8);
  for (std::int64_t i = 0; i < count; ++i) all.add(numbered(i));
  std::vector<record> found{numbered(-1)};  // what is there before stays
  const std::int64_t lost = all.read(static_cast<std::uint64_t>(from), found);
  const std::int64_t first = std::max(std::min(from, count), count - 8);
  CHECK(lost == first - std::min(from, count));
  REQUIRE(std::ssize(found) == 1 + count - first);
  for (std::int64_t i = first; i < count; ++i) {
    CHECK(found[static_cast<std::size_t>(1 + i - first)].begin == i);
    CHECK(is_whole(found[static_cast<std::size_t>(1 + i - first)]));
  }
}

TEST_CASE("who reads while the thread adds gets whole records in their order") {
  ring all(32 * 64);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::int64_t i = 0; !stop; ++i) all.add(numbered(i));
  });
  std::size_t seen = 0;
  bool whole = true, ordered = true;
  while (seen < 100'000) {
    std::vector<record> found;
    all.read(0, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      whole = whole && is_whole(found[i]);
      ordered = ordered && (i == 0 || found[i].begin == found[i - 1].begin + 1);
    }
    seen += found.size();
    if (found.empty()) std::this_thread::yield();
  }
  stop = true;
  writer.join();
  CHECK(whole);
  CHECK(ordered);
}
