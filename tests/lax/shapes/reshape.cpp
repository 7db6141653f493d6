// tests/lax/shapes/reshape.cpp: other extents for the same elements.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/shapes/reshape.hpp>
#include <tokamax/lax/shapes/transpose.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("reshape keeps the contract") {
  check_op(reshape_p, {{{noise({2, 6}, 1)}, pack(reshape_options{{3, 4}})},
                       {{noise({2, 6}, 1)}, pack(reshape_options{{12}})},
                       {{noise({1}, 1)}, pack(reshape_options{{}})},
                       {{noise({0, 2}, 1)}, pack(reshape_options{{4, 0}})},
                       {{noise({4}, 1, bf16)}, pack(reshape_options{{2, 1, 2}})}});
  check_function([](const arrays& x) -> arrays { return reshape(transpose(x[0]), {3, -1}); },
                 {noise({2, 6}, 1)});  // a view that must move
}

TEST_CASE("one extent is worked out; axes of extent 1 come and go") {
  constexpr array x(array_type{f32, false, {2, 6}});
  static_assert(reshape(x, {4, -1}).shape() == shape{4, 3});
  static_assert(expand_dims(x, -1).shape() == shape{2, 6, 1});
  static_assert(expand_dims(x, 1).shape() == shape{2, 1, 6});
  static_assert(squeeze(expand_dims(x, 0), 0).shape() == shape{2, 6});
  static_assert(reshape(array(array_type{f32, false, {dyn(), 6}}), {-1}).shape() == shape{dyn(0, 6)});
}

TEST_CASE("another number of elements is rejected") {
  const array x = noise({2, 3}, 1);
  CHECK_THROWS_WITH(
      reshape(x, {4, 2}),
      contains("reshape: number of elements: found f32[2,3], expected as many as in [4,2]") && contains("reshape.cpp"));
  CHECK_THROWS_WITH(reshape(x, {4, -1}), contains("reshape: number of elements"));
  CHECK_THROWS_WITH(squeeze(x, 0), contains("reshape: number of elements"));
}
