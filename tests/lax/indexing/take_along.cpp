// tests/lax/indexing/take_along.cpp: an index for each element, along every axis.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/take_along.hpp>
#include <tokamax/numpy/take_along_axis.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

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
