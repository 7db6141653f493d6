// tests/linalg/least_squares.cpp: the pseudo-inverse of matrices with special values, and of any rank.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/least_squares.hpp>

#include "linalg/matrices.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("pinv of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays { return linalg::pinv(x[0]); };
  for (const dtype t : {f32, f64}) {
    for (const shape& s :
         {shape{42, 4, 4}, {42, 1, 1}, {21, 3, 5}, {21, 5, 3}, {2, 3, 2, 2}, {2, 0, 3}, {2, 3, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile_rectangles(s, 3, t)}, near_in(t));
    check_adversarial(f, {of_every_rank(t)}, near_in(t));
  }
}
