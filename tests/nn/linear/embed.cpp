// tests/nn/linear/embed.cpp: rows by id, and logits against all rows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/linear/embed.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace nn = tokamax::nn;
using tokamax::array;

static_assert(nn::embed{10, 4}(array({tokamax::i32, false, {2, 3}})).shape() == tokamax::shape{2, 3, 4});
static_assert(nn::embed{10, 4}.logits(array({tokamax::f32, false, {2, 3, 4}})).shape() == tokamax::shape{2, 3, 10});

TEST_CASE("embed picks rows and multiplies by them") {
  nn::embed e{3, 2};
  e.table = array::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(tokamax::test::distance(e(array::from<std::int32_t>({2, 0})), array::from<float>({5, 6, 1, 2}, {2, 2})) == 0);
  CHECK(tokamax::test::distance(e.logits(array::from<float>({1, -1}, {1, 2})),
                                array::from<float>({-1, -1, -1}, {1, 3})) == 0);
}
