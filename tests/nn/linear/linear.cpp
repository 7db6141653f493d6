// tests/nn/linear/linear.cpp: shapes, values and initialisation of linear.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/nn/linear/linear.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace nn = tokamax::nn;
using tokamax::array;

namespace {

constexpr nn::linear short_form{784, 128};
constexpr nn::linear without_bias{.in = 3, .out = 2, .use_bias = false};
static_assert(short_form.kernel.shape() == tokamax::shape{784, 128} && short_form.bias.shape() == tokamax::shape{128});
static_assert(without_bias.bias.size() == 0 && tokamax::field_count<nn::linear> == 9);
static_assert(short_form(array({tokamax::f32, false, {4, 5, 784}})).shape() == tokamax::shape{4, 5, 128});

}  // namespace

TEST_CASE("linear multiplies by the kernel and adds the bias") {
  nn::linear layer{2, 3};
  layer.kernel = array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  layer.bias = array::from<float>({10, 20, 30});
  const array y = layer(array::from<float>({1, 1, 2, -1}, {2, 2}));
  CHECK(tokamax::test::distance(y, array::from<float>({15, 27, 39, 8, 19, 30}, {2, 3})) == 0);
}

TEST_CASE("linear starts as Flax's Linear: truncated normal with variance 1 / in, and zeros") {
  const nn::linear layer = tokamax::init(nn::linear{256, 300}, tokamax::random::key(7));
  double sum = 0, squares = 0, most = 0;
  for (float v : layer.kernel.values<float>()) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v * v);
    most = std::fmax(most, std::fabs(static_cast<double>(v)));
  }
  const double n = 256 * 300, stddev = std::sqrt(1.0 / 256);
  CHECK(std::fabs(sum / n) < 4 * stddev / std::sqrt(n));
  CHECK(std::sqrt(squares / n) == Approx(stddev).epsilon(0.01));
  CHECK(most <= 2 * stddev / 0.87962566103423978);
  CHECK(tokamax::test::distance(layer.bias, tokamax::zeros({300})) == 0);
}

TEST_CASE("without a bias there is nothing to add") {
  nn::linear layer = tokamax::init(without_bias, tokamax::random::key(1));
  CHECK(layer(tokamax::ones({1, 3})).shape() == tokamax::shape{1, 2});
  CHECK(layer.bias.size() == 0);
}
