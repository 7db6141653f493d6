// tests/data/map.cpp: a function of each element.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/map.hpp>
#include <tokamax/data/tokens.hpp>

#include "support/catch.hpp"

namespace data = tokamax::data;

TEST_CASE("map applies a function to each element") {
  const auto doubled = data::tokens("ab") | data::map([](std::int32_t token) { return 2.0 * token; });
  CHECK(doubled.size() == 2);
  CHECK(doubled[1] == 2.0 * 'b');
  CHECK(doubled[2] == 2.0 * 'a');
}

TEST_CASE("stages join without a source") {
  const auto twice = data::map([](int x) { return x + 1; }) | data::map([](int x) { return 10 * x; });
  CHECK((data::tokens("a") | twice)[0] == 980);
}
