// tests/lax/shapes/transpose.cpp: permuted axes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/shapes/transpose.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("transpose keeps the contract") {
  for (const axes& p : {axes{0, 1, 2}, axes{0, 2, 1}, axes{1, 0, 2}, axes{1, 2, 0}, axes{2, 0, 1}, axes{2, 1, 0}})
    check_op(transpose_p,
             {{{noise({2, 3, 5}, 1)}, pack(transpose_options{p})},
              {{noise({2, 3, 5}, 1, bf16)}, pack(transpose_options{p})}},
             {.order = 1});
  check_values([](const arrays& x) -> arrays { return tanh(transpose(x[0]) + x[1]); },
               {noise({77, 130}, 1), noise({130, 77}, 2)});
}

TEST_CASE("short forms") {
  constexpr array x(array_type{f32, false, {2, 3, 5}});
  static_assert(transpose(x).shape() == shape{5, 3, 2});
  static_assert(swapaxes(x, 0, -1).shape() == shape{5, 3, 2});
  static_assert(transpose(x, {1, 2, 0}).shape() == shape{3, 5, 2});
}

TEST_CASE("what is no permutation is rejected") {
  const array x = noise({2, 3}, 1);
  CHECK_THROWS_WITH(
      transpose(x, {0, 0}),
      contains("transpose: permutation: found [0,0], expected of the axes of f32[2,3]") && contains("transpose.cpp"));
  CHECK_THROWS_WITH(transpose(x, {0}), contains("transpose: permutation"));
  CHECK_THROWS_WITH(transpose(x, {0, 2}), contains("transpose: permutation"));
}
