// tests/lax/iota.cpp: arrays made from nothing.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/iota.hpp>
#include <tokamax/numpy/arange.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("iota counts along one axis in every dtype") {
  for (const dtype t : {i32, u32, f32, bf16})
    for (const int axis : {0, 1})
      check_values([&](const arrays& x) -> arrays { return {iota(t, {3, 40}, axis), x[0]}; }, {noise({1}, 1)});
  check_function([](const arrays& x) -> arrays { return x[0] * iota(f32, {2, 5}, 1); }, {noise({2, 5}, 1)});
}

TEST_CASE("filled arrays cost no memory until data is asked for") {
  const array z = zeros({1000, 1000, 1000});
  CHECK(z.is_literal());
  CHECK(ones({2}, i32).values<std::int32_t>()[1] == 1);
  CHECK(full({2}, 0.5).values<float>()[0] == 0.5f);
  CHECK(ones_like(zeros({3}, bf16)).type() == array_type{bf16, false, {3}});
}

TEST_CASE("eye, arange and one_hot") {
  CHECK(to_value(eye(3)).data == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(to_value(arange(4)).data == std::vector<double>{0, 1, 2, 3});
  check_golden("one_hot_5", [](const arrays& x) -> arrays { return one_hot(x[0], 5); });
}

TEST_CASE("a dimension that is not there is rejected") {
  CHECK_THROWS_WITH(iota(i32, {2, 3}, 2), contains("iota: dimension: found 2, expected an axis of [2,3]"));
  CHECK_THROWS_WITH(iota(i32, {2, 3}, -1), contains("iota: dimension: found -1, expected an axis of [2,3]"));
}
