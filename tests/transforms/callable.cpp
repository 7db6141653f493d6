// tests/transforms/callable.cpp: functions of the library, pointers and members as arguments of transformations.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/transforms/callable.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;

namespace {

struct network {
  array weight = tk::nn::parameter({2});
  constexpr array forward(const array& x) const { return weight * x; }
  constexpr array loss(const array& x) const { return tk::sum(forward(x)); }
};
array cube(const array& x) { return x * x * x; }

using vector = tk::tensor<tk::f32, 2>;
constexpr auto derivatives = [](const vector& x) {
  return std::pair{tk::vmap(tk::grad(tk::sin))(x), tk::vmap(tk::tanh)(x)};
};

TEST_CASE("functions of the library are differentiated, mapped and compiled as they are") {
  CHECK(tk::grad(tk::sin)(1.0f).item() == tk::cos(array(1.0f)).item());
  CHECK(tk::grad(cube)(2.0f).item() == 12);
  CHECK(tk::grad(&cube)(2.0f).item() == 12);
  const auto [value, slope] = tk::value_and_grad(tk::exp)(1.0f);
  CHECK(value.item() == slope.item());
  const array x = array::from<float>({0.5f, -1});
  CHECK(tk::vmap(tk::tanh)(x).values<float>()[1] == tk::tanh(x).values<float>()[1]);
  CHECK(tk::jit(tk::tanh, tk::cpu)(x).values<float>()[1] == tk::tanh(x).values<float>()[1]);
  CHECK(tk::jit(cube, tk::cpu)(x).values<float>()[1] == -1);
}

TEST_CASE("functions of several forms are found by their arguments") {
  const array x = array::from<float>({1, 2, 3});
  CHECK(tk::grad(tk::sum)(x).values<float>()[2] == 1);
  CHECK(tk::value_and_grad(tk::mean)(x).first.item() == 2);
  CHECK(tk::vmap(tk::sum)(tk::reshape(tk::arange(4), {2, 2})).values<std::int32_t>()[1] == 5);
  CHECK(tk::jit(tk::sum, tk::cpu)(x).item() == 6);
  CHECK(tk::vmap(tk::maximum)(x, -x).values<float>()[0] == 1);
  const tk::library_function one = tk::sum, two = tk::maximum;
  CHECK_THROWS_WITH(one(x, x), contains("function: arguments: found 2, expected 1"));
  CHECK_THROWS_WITH(two(x), contains("function: arguments: found 1, expected 2"));
}

TEST_CASE("a member is a function of its object") {
  const network f{array::from<float>({2, 3})};
  const array x = array::from<float>({1, 4});
  CHECK(tk::jit(&network::forward, tk::cpu)(f, x).values<float>()[1] == 12);
  CHECK(tk::grad(&network::loss)(f, x).weight.values<float>()[1] == 4);
  CHECK(tk::vmap(&network::forward, {.in_axes = {tk::not_mapped, 0}})(f, tk::ones({3, 2})).extent(0) == 3);
}

TEST_CASE("they have the same bits in programs known while compiling, traced and eager") {
  const vector x(array::from<float>({0.25f, -3}));
  const auto compiled = tk::jit(derivatives, tk::cpu, tk::while_compiling)(x), eager = derivatives(x),
             traced = tk::jit(derivatives, tk::cpu, tk::at_run_time)(x);
  for (int i = 0; i < 2; ++i) {
    const auto k = static_cast<std::size_t>(i);
    CHECK(compiled.first.values<float>()[k] == eager.first.values<float>()[k]);
    CHECK(compiled.second.values<float>()[k] == eager.second.values<float>()[k]);
    CHECK(traced.first.values<float>()[k] == eager.first.values<float>()[k]);
    CHECK(traced.second.values<float>()[k] == eager.second.values<float>()[k]);
  }
}

TEST_CASE("has_aux may be a field") {
  const auto f = [](const array& x) { return std::pair{x * x, x + 1.0f}; };
  const auto [value, slope] = tk::value_and_grad(f, {.has_aux = true})(3.0f);
  CHECK(value.second.item() == 4);
  CHECK(tk::grad(f, {.has_aux = true})(3.0f).first.item() == slope.item());
}

}  // namespace
