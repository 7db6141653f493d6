// tests/lax/elementwise/scalar_math.cpp: element functions on doubles.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/scalar_math.hpp>

#include "support/catch.hpp"

TEST_CASE("the names that element functions use exist for doubles") {
  namespace m = tokamax::scalar_math;
  static_assert(m::select(true, 1.0, 2.0) == 1.0);
  static_assert(m::select(0, 1.0, 2.0) == 2.0);
  CHECK(m::exp(0.0) == 1.0);
  CHECK(m::nearbyint(2.5) == 2.0);
  CHECK(m::fmod(-7.0, 3.0) == -1.0);
  CHECK(m::erf(0.0) == 0.0);
}
