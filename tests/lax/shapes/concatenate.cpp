// tests/lax/shapes/concatenate.cpp: arrays joined along an axis.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/lax/shapes/transpose.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("concatenate keeps the contract") {
  check_op(concatenate_p, {{{noise({2, 3}, 1), noise({2, 1}, 2), noise({2, 4}, 3)}, pack(concatenate_options{1})},
                           {{noise({2, 3}, 1), noise({1, 3}, 2)}, pack(concatenate_options{0})},
                           {{noise({2, 2, 2}, 1, bf16), noise({2, 3, 2}, 2, bf16)}, pack(concatenate_options{1})},
                           {{noise({0}, 1), noise({3}, 2)}, pack(concatenate_options{0})}});
  check_golden("concatenate", [](const arrays& x) -> arrays { return concatenate(x, 1); }, 2);
}

TEST_CASE("operands are read with their strides") {
  const std::vector<array> x{noise({6, 20}, 1), noise({20, 6}, 2), noise({6, 1}, 3)};
  for (const int axis : {0, 1})
    check_values(
        [axis](const arrays& v) -> arrays {
          return concatenate({slice_in_dim(v[0], 2, 6, 0), transpose(slice_in_dim(v[1], 1, 5, 1)),
                              broadcast_to(slice_in_dim(v[2], 0, 4, 0), {4, 20})},
                             axis);
        },
        x);
  check_values([](const arrays& v) -> arrays { return concatenate({v[0], slice_in_dim(v[0], 3, 9, 1)}, 1); }, {x[0]});
  check_values([](const arrays& v) -> arrays { return stack({v[0], v[0] + 1.0, v[0] * 2.0, v[0] - 1.0, v[0]}, 2); },
               {x[0]});
}

TEST_CASE("concatenate promotes, and stack makes a new axis") {
  CHECK(concatenate({zeros({2}, i32), zeros({3})}).type() == array_type{f32, false, {5}});
  const array s = stack({array::from<float>({1, 2}), array::from<float>({3, 4})}, -1);
  CHECK(s.shape() == shape{2, 2});
  CHECK(s.values<float>()[1] == 3);
  CHECK(stack({zeros({2}), zeros({2}), zeros({2})}).shape() == shape{3, 2});
}

TEST_CASE("concatenate rejects operands that do not fit") {
  CHECK_THROWS_WITH(concatenate({zeros({2, 3}), zeros({3, 2})}),
                    contains("concatenate: operand: found f32[3,2], expected extents of f32[2,3] but on axis "));
  CHECK_THROWS_WITH(concatenate({zeros({2, 3})}, 2), contains("concatenate: axis"));
}

TEST_CASE("special values keep their bits when joined") {
  for (const dtype t : every_dtype) {
    check_adversarial([](const arrays& x) -> arrays { return {concatenate({x[0], x[1], x[2]}, 0)}; },
                      {adversarial({83, 37}, 3, t), adversarial({0, 37}, 3, t), adversarial({1, 37}, 4, t)});
    check_adversarial([](const arrays& x) -> arrays { return {concatenate({x[0], x[1], x[2]}, 1)}; },
                      {adversarial({83, 37}, 3, t), adversarial({83, 0}, 3, t), adversarial({83, 1}, 4, t)});
  }
}
