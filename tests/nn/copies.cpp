// tests/nn/copies.cpp: equal layers get values of their own.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/copies.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;

namespace copies_test {  // with a name, for clang
struct network {
  std::array<nn::linear, 3> layers = nn::copies<3>(nn::linear{2, 2, false});
  constexpr tk::array operator()(tk::array x) const {
    for (const nn::linear& layer : layers) x = layer(x);
    return x;
  }
};
static_assert(nn::copies<0>(nn::linear{2, 2}).empty());
}  // namespace copies_test
using copies_test::network;

TEST_CASE("copies have the options of one layer and values of their own") {
  const network m = tk::init<network>(tk::random::key(0));
  for (const nn::linear& layer : m.layers) CHECK((layer.out == 2 && !layer.use_bias));
  CHECK(tk::test::distance(m.layers[0].kernel, m.layers[1].kernel) > 0.01);
  CHECK(tk::test::distance(m.layers[1].kernel, m.layers[2].kernel) > 0.01);
}

TEST_CASE("a model with copies is known while compiling") {
  const network m = tk::init<network>(tk::random::key(0));
  const tk::tensor<tk::f32, 2, 2> x = tk::ones({2, 2});
  const auto apply = [](const network& f, const tk::tensor<tk::f32, 2, 2>& in) { return f(in); };
  CHECK(tk::test::bit_difference({tk::jit(apply, tk::cpu, tk::while_compiling)(m, x)}, {m(x)}).empty());
}
