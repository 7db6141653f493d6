// tests/linalg/determinant.cpp: determinants and cofactors of matrices with special values, and of singular ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/determinant.hpp>

#include "linalg/matrices.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("det and slogdet of matrices with special values, without an element, and of any rank") {
  const function f = [](const arrays& x) -> arrays {
    const auto [side, log_abs] = linalg::slogdet(x[0]);
    return {linalg::det(x[0]), side, log_abs};
  };
  for (const dtype t : {f32, f64}) {
    for (const shape& s : {shape{42, 4, 4}, {42, 1, 1}, {2, 3, 2, 2}, {2, 0, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile(s, 3, t)}, near_in(t));
    check_adversarial(f, {of_every_rank(t)}, near_in(t));
  }
}
TEST_CASE("the cofactors of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays { return bind(linalg::cofactor_p, {x[0]}, words{}, location{}); };
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{42, 3, 3}, {42, 1, 1}, {2, 3, 2, 2}, {0, 2, 2}})
      check_adversarial(f, {hostile(s, 3, t)}, near_in(t));
  // of rank 2 in three dimensions: one cofactor is left
  const array a = array::from<float>({1, 0, 0, 0, 2, 0, 0, 0, 0}, {3, 3});
  const array c = bind(linalg::cofactor_p, {a}, words{}, location{});
  CHECK(apart(c, array::from<float>({0, 0, 0, 0, 0, 0, 0, 0, 2}, {3, 3})) < 1e-6);
}
