// tests/lax/shapes/broadcast_in_dim.cpp: repeated axes and the sum that undoes them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/elementwise.hpp>
#include <tokamax/lax/shapes/broadcast_in_dim.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("broadcast_in_dim keeps the contract") {
  check_op(broadcast_in_dim_p, {{{noise({3}, 1)}, pack(broadcast_options{{2, 3}, {1}})},
                                {{noise({3}, 1)}, pack(broadcast_options{{3, 2}, {0}})},
                                {{noise({1, 3}, 1)}, pack(broadcast_options{{2, 3, 4}, {0, 1}})},
                                {{noise(shape{}, 1)}, pack(broadcast_options{{2, 2}, {}})},
                                {{noise({2, 1}, 1, bf16)}, pack(broadcast_options{{2, 5}, {0, 1}})},
                                {{array::from<std::int32_t>({1, 2})}, pack(broadcast_options{{2, 0}, {0}})}});
}

TEST_CASE("reduce_sum keeps the contract") {
  for (const axes& a : {axes{}, axes{0}, axes{1}, axes{2}, axes{0, 2}, axes{0, 1, 2}})
    check_op(reduce_sum_p, {{{noise({2, 3, 5}, 1)}, pack(reduce_attributes{a})}});
  check_op(reduce_sum_p, {{{noise({3, 40}, 1, bf16)}, pack(reduce_attributes{{1}})},
                          {{noise({0, 3}, 1)}, pack(reduce_attributes{{0}})}});
}

TEST_CASE("broadcast_to follows NumPy") {
  check_function([](const arrays& x) -> arrays { return broadcast_to(x[0], {4, 2, 3}); }, {noise({2, 1}, 3)});
  static_assert(broadcast_to(array(array_type{f32, false, {1, 3}}), {5, 2, 3}).shape() == shape{5, 2, 3});
}

TEST_CASE("shapes that do not fit are rejected") {
  const array x = zeros({2, 3});
  CHECK_THROWS_WITH(broadcast_in_dim(array(array_type{f32, false, {2, 3}}), {2, 4}, {0, 1}),
                    contains("broadcast_in_dim: shape: found f32[2,3], expected extents of 1 or those of [2,4]"));
  CHECK_THROWS_WITH(broadcast_to(x, {3, 2}), contains("broadcast_to: shape") && contains("broadcast_in_dim.cpp"));
  CHECK_THROWS_WITH(broadcast_to(x, {3}), contains("broadcast_to: shape"));
  CHECK_THROWS_WITH(reduce_sum(x, {2}), contains("reduce_sum: axis"));
}
