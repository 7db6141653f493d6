// tests/core/arguments.cpp: arguments that no function can take are refused by name.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/arguments.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;

TEST_CASE("axes are found from both ends, and no others") {
  const tk::array x(tk::array_type{tk::f32, false, {2, 3}});
  CHECK(tk::checked_axis("f: axis", 1, x, {}) == 1);
  CHECK(tk::checked_axis("f: axis", -2, x, {}) == 0);
  CHECK(tk::checked_axis("f: axis", -1, x, {}, 1) == 2);
  CHECK_THROWS_WITH(tk::checked_axis("f: axis", 2, x, {}), "f: axis: found 2, expected an axis of f32[2,3]");
  CHECK_THROWS_WITH(tk::checked_axis("f: axis", -4, x, {}, 1), "f: axis: found -4, expected an axis of rank 3");
}

TEST_CASE("sizes that no memory has, and extents that no array has") {
  const auto many = std::int64_t{1} << 40;
  CHECK(tk::unmet({tk::f32, false, {many, many}}) == std::string("at most 2^63 - 1 bytes"));
  CHECK(tk::unmet({tk::f32, false, {many, 0, many}}) == std::string("at most 2^63 - 1 bytes"));
  CHECK(tk::unmet({tk::f32, false, {2, -3}}) == std::string("extents from 0 on"));
  CHECK(tk::unmet({tk::f32, false, {2, tk::dyn(), 0}}) == nullptr);
  CHECK_THROWS_WITH(tk::array::uninitialized({tk::f32, false, {-5}}),
                    "array: shape: found f32[-5], expected extents from 0 on");
  CHECK_THROWS_WITH(tk::array::uninitialized({tk::f32, false, {tk::dyn()}}),
                    "array: shape: found f32[n], expected known extents");
}
