// tests/nn/norms/layer_norm.cpp: the layer is the op with its own parameters.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/norms/layer_norm.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace nn = tokamax::nn;
using tokamax::array;

static_assert(nn::layer_norm{5}(array({tokamax::f32, false, {2, 5}})).shape() == tokamax::shape{2, 5});

TEST_CASE("layer_norm starts without scale and offset") {
  const array x = array::from<float>({1, 2, 3, 4}, {2, 2});
  const array y = nn::layer_norm{.width = 2, .epsilon = 1e-12}(x);
  CHECK(tokamax::test::distance(y, array::from<float>({-1, 1, -1, 1}, {2, 2})) < 1e-6);
}
