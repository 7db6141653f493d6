// tests/data/check_restores.cpp: pipelines that go on where they were, and one that does not.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/check_restores.hpp>

#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/stream/pack.hpp>
#include <tokamax/data/stream/repeat.hpp>

#include <atomic>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::data;

namespace {
const auto ramp = map(
    [](std::int64_t n) { return tk::array::from(std::vector<std::int32_t>(static_cast<std::size_t>(n % 7 + 1), 3)); });
}  // namespace

TEST_CASE("restored pipelines go on") {
  check_restores(range(9) | shuffle({.seed = 1}));
  check_restores(range(20) | shuffle({.seed = 1}) | ramp | repeat(2) | pack(16) |
                 prefetch({.threads = 2, .elements = 3}));
  check_restores(range(0) | repeat(1));
}

TEST_CASE("a function that counts its calls is found") {
  const auto calls = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto counted = range(5) | map([calls](std::int64_t) { return (*calls)++; }) | repeat(1);
  CHECK_THROWS_WITH(check_restores(counted), contains("element 0 after a restore before element 0: found another one"));
  const auto arrays =
      range(5) | map([calls](std::int64_t) { return tk::array(static_cast<std::int32_t>((*calls)++)); });
  CHECK_THROWS_WITH(check_restores(arrays, 3), contains("another one"));
}

TEST_CASE("the first element as types") {
  const auto spec = element_spec(range(8) | ramp | repeat(1) | pack(16));
  REQUIRE(spec);
  const tk::array_type expected{tk::i32, false, {16}};
  CHECK(spec->values.type() == expected);
  CHECK(spec->positions.type() == expected);
  CHECK(!spec->values.is_concrete());
  CHECK(*element_spec(range(3, 5)) == 3);
  CHECK(!element_spec(range(0) | repeat(1)));
}
