// tests/base/version.cpp: the version is three numbers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/version.hpp>

#include <algorithm>

#include "support/catch.hpp"

static_assert(std::ranges::count(tokamax::version, '.') == 2);

TEST_CASE("the version is three numbers") {
  REQUIRE(std::ranges::all_of(tokamax::version, [](char c) { return c == '.' || (c >= '0' && c <= '9'); }));
}
