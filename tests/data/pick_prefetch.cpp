// tests/data/pick_prefetch.cpp: threads and elements that fit into memory.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/pick_prefetch.hpp>

#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/stream/repeat.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::data;

TEST_CASE("a budget becomes options of prefetch") {
  const auto arrays = range(10) | map([](std::int64_t) { return tk::array::from(std::vector<float>(250)); });
  const prefetch_options small = pick_prefetch(arrays, {.bytes = 7999});
  CHECK(small.elements == 7);
  CHECK(small.bytes == 7999);
  CHECK(small.threads >= 1);
  CHECK(small.threads <= 7);
  CHECK(pick_prefetch(arrays, {.bytes = 10}).elements == 1);
  CHECK(pick_prefetch(arrays, {.bytes = 10}).threads == 1);
  CHECK(pick_prefetch(arrays, {.threads = 1}).threads == 1);
  CHECK(pick_prefetch(arrays).elements == 500);
  CHECK(pick_prefetch(arrays | repeat(0), {.bytes = 3000}).elements == 3);
  CHECK(pick_prefetch(range(0) | repeat(1), {.elements = 9}).elements == 9);  // nothing to look at
  CHECK_THROWS_WITH(pick_prefetch(arrays, {.bytes = 0}), contains("pick_prefetch: bytes: found 0"));
  std::int64_t count = 0;
  for (auto reader = (arrays | repeat(1) | prefetch(small)).from(); [[maybe_unused]] const auto& one : reader) ++count;
  CHECK(count == 10);
}
