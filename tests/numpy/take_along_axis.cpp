// tests/numpy/take_along_axis.cpp: one index per line.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/take_along_axis.hpp>

#include "support/check_op.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("take_along_axis picks by line") {
  check_golden("take_along_axis", [](const arrays& x) -> arrays { return take_along_axis(x[0], x[1], 1); }, 2);
  const array i = array::from<std::int32_t>({1, 0, -1, 0, 0, 1}, {2, 3, 1});
  check_function([](const arrays& x) -> arrays { return take_along_axis(x[0], x[1]); }, {noise({2, 3, 2}, 1), i});
  check_function([](const arrays& x) -> arrays { return take_along_axis(x[0], x[1], 0); }, {noise({4, 3, 1}, 1), i});
}

TEST_CASE("an index outside gives NaN") {
  const array y = take_along_axis(noise({2, 3}, 1), array::from<std::int32_t>({3, -4}, {2, 1}));
  CHECK(std::isnan(y.values<float>()[0]));
  CHECK(std::isnan(y.values<float>()[1]));
}

TEST_CASE("indices of another shape are rejected") {
  CHECK_THROWS_WITH(take_along_axis(zeros({2, 3}), zeros({3, 1}, i32)), contains("take_along_axis: indices"));
  CHECK_THROWS_WITH(take_along_axis(zeros({2, 3}), zeros({2, 1})), contains("take_along_axis: indices"));
}
