// tests/numpy/take_along_axis.cpp: one index per line.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/take_along_axis.hpp>

#include "support/adversarial.hpp"
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

TEST_CASE("take_along keeps the contract") {
  const array i = array::from<std::int32_t>({1, 0, -1, 0, 0, 1}, {2, 3, 1});
  check_op(take_along_p, {{{noise({2, 3, 2}, 1), i}, pack(take_along_options{2})},
                          {{noise({2, 5, 1}, 1), i}, pack(take_along_options{1})},
                          {{noise({7, 3, 1}, 1, bf16), i}, pack(take_along_options{0})}});
}

TEST_CASE("every axis and dtype keeps the bits of the elements, with indices outside of the axis") {
  const array picks = array::from<std::int32_t>({0, 6, -1, 99, 3, 5, -7, 2, -8, 1, 0, 0x7fffffff, -0x7fffffff - 1});
  for (const dtype t : every_dtype)
    for (const shape& s : {shape{7, 1}, {7, 37}, {7, 3000}, {7, 0}}) {
      const array i = broadcast_in_dim(picks, {picks.size(), s[1]}, {0});
      check_adversarial([](const arrays& x) -> arrays { return take_along_axis(x[0], x[1], 0); },
                        {adversarial(s, 1, t), i});
      check_adversarial([](const arrays& x) -> arrays { return take_along_axis(x[0], x[1], 1); },
                        {adversarial({s[1], s[0]}, 1, t), broadcast_in_dim(picks, {s[1], picks.size()}, {1})});
    }
  check_adversarial([](const arrays& x) -> arrays { return take_along_axis(x[0], x[1], 1); },
                    {noise({3, 0}, 1), array::from<std::int32_t>({0, -1, 2}, {3, 1})});
}
