// tests/nn/linear/mlp.cpp: mlp and gated_mlp are compositions of linear.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/nn/linear/mlp.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {

constexpr nn::mlp wide{.width = 4, .hidden = 16};
static_assert(wide.up.kernel.shape() == tk::shape{4, 16} && wide.down.kernel.shape() == tk::shape{16, 4});
static_assert(wide(array({tk::f32, false, {3, 4}})).shape() == tk::shape{3, 4});
static_assert(nn::gated_mlp{.width = 4, .hidden = 16}(array({tk::f32, false, {3, 4}})).shape() == tk::shape{3, 4});

}  // namespace

TEST_CASE("mlp applies its activation between two products") {
  const nn::mlp layer = tk::init(nn::mlp{.width = 4, .hidden = 16, .activation = tk::relu}, tk::random::key(3));
  const array x = array::from<float>({1, -2, 3, 0.5f}, {1, 4});
  CHECK(tk::test::distance(layer(x), layer.down(tk::relu(layer.up(x)))) == 0);
}

TEST_CASE("gated_mlp multiplies by the activated gate") {
  const nn::gated_mlp layer = tk::init(nn::gated_mlp{.width = 4, .hidden = 16}, tk::random::key(3));
  const array x = array::from<float>({1, -2, 3, 0.5f}, {1, 4});
  CHECK(tk::test::distance(layer(x), layer.down(tk::silu(layer.gate(x)) * layer.up(x))) < 1e-6);
}
