// tests/data/counter_hash.cpp: random bits are a function of seed and counter.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/counter_hash.hpp>

#include <cmath>

#include "support/catch.hpp"

using tokamax::data::counter_hash;

static_assert(counter_hash(1, 2) == counter_hash(1, 2));
static_assert(counter_hash(1, 2) != counter_hash(2, 1));
static_assert(counter_hash(0, 0) != counter_hash(0, 1));

TEST_CASE("each bit is set half of the time") {
  constexpr int draws = 20000;
  for (int bit = 0; bit < 64; ++bit) {
    int set = 0;
    for (std::uint64_t i = 0; i < draws; ++i) set += static_cast<int>(counter_hash(7, i) >> bit & 1);
    CHECK(std::abs(set - draws / 2) < 5 * std::sqrt(draws / 4.0));
  }
}
