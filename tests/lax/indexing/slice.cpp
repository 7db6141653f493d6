// tests/lax/indexing/slice.cpp: boxes out of arrays and arrays with a border.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/shapes/transpose.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("slice keeps the contract") {
  const array x = noise({4, 7}, 1);
  check_op(slice_p, {{{x}, pack(slice_options{{1, 2}, {3, 6}, {1, 1}})},
                     {{x}, pack(slice_options{{0, 1}, {4, 7}, {2, 3}})},
                     {{x}, pack(slice_options{{0, 0}, {4, 7}, {1, 1}})},
                     {{x}, pack(slice_options{{2, 3}, {2, 5}, {1, 1}})},
                     {{noise({9}, 1, bf16)}, pack(slice_options{{1}, {8}, {2}})},
                     {{array::from<std::int32_t>({1, 2, 3})}, pack(slice_options{{1}, {3}, {1}})}});
}

TEST_CASE("pad keeps the contract, also with negative amounts") {
  const array x = noise({3, 4}, 1), v = noise(shape{}, 5);
  check_op(pad_p, {{{x, v}, pack(pad_options{{1, 0}, {0, 2}, {0, 0}})},
                   {{x, v}, pack(pad_options{{0, 1}, {1, 1}, {1, 2}})},
                   {{x, v}, pack(pad_options{{-1, 1}, {1, -2}, {0, 0}})},
                   {{x, v}, pack(pad_options{{-2, 0}, {1, -1}, {2, 1}})},
                   {{noise({0}, 1), v}, pack(pad_options{{2}, {1}, {1}})},
                   {{noise({3}, 1, bf16), noise(shape{}, 2, bf16)}, pack(pad_options{{1}, {1}, {0}})}});
}

TEST_CASE("slices of one axis, and of views") {
  check_function([](const arrays& x) -> arrays { return slice_in_dim(x[0], 1, 3, 1); }, {noise({2, 4}, 1)});
  check_function([](const arrays& x) -> arrays { return slice(transpose(x[0]), {1, 0}, {3, 2}); }, {noise({2, 4}, 1)});
}

TEST_CASE("bounds and amounts that do not fit are rejected") {
  const array x = zeros({2, 3});
  CHECK_THROWS_WITH(slice(x, {0, 1}, {2, 4}),
                    contains("slice: bounds: found [0,1]:[2,4], expected inside f32[2,3]") && contains("slice.cpp"));
  CHECK_THROWS_WITH(slice(x, {0, -1}, {2, 3}), contains("slice: bounds"));
  CHECK_THROWS_WITH(slice(x, {0}, {2}), contains("slice: bounds"));
  CHECK_THROWS_WITH(slice(x, {0, 0}, {2, 3}, {1, 0}), contains("slice: bounds"));
  CHECK_THROWS_WITH(slice_in_dim(x, 1, 5, 1), contains("slice: bounds"));
  CHECK_THROWS_WITH(pad(x, 0.0f, {1}, {1}), contains("pad: amounts"));
  CHECK_THROWS_WITH(pad(x, 0.0f, {-3, 0}, {0, 0}), contains("pad: amounts"));
}
