// tests/runtime/program/known_arguments.cpp: which arguments the compiler knows, and what it says of the others.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/nn/linear/linear.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/contains.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace tk = tokamax;
using tk::array;
using numbers = tk::tensor<tk::f32, 3>;

namespace {
struct inner {
  numbers a;
  array b = array({tk::f32, false, {2, 0}});
};
struct outer {
  std::array<inner, 2> parts;
  numbers c;
};
struct later {
  std::vector<array> layers;
};
int counter() {
  static int n = 0;
  return ++n;
}
struct running {
  array a = tk::zeros({counter()});
};
constexpr auto nothing = [](const auto&...) {};
using no_state = decltype(nothing);

/// Does the first fact that is not known have these parts? None is known to be missing if they are empty.
template <class... Args>
constexpr bool unknown(std::string_view argument, std::string_view found) {
  constexpr const auto& u = tk::detail::unknown_of<no_state, Args...>;
  static_assert(tk::detail::known_while_compiling<no_state, Args...>() == (u.argument.length == 0));
  return u.argument.view() == argument && u.found.view() == found;
}
static_assert(unknown<>("", ""));
static_assert(unknown<numbers, std::array<numbers, 2>, float>("", ""));
static_assert(unknown<tk::tensor<tk::f32, 0, 2>>("", ""));  // its type says that it is empty
static_assert(unknown<numbers, array>("argument 1", "an array of any dtype and shape"));
static_assert(unknown<outer>("argument 0.parts[0].b", "f32[2,0] as its default value"));
static_assert(unknown<numbers, later>("argument 1", "a structure that its type does not tell"));
static_assert(unknown<std::optional<numbers>>("argument 0", "a structure that its type does not tell"));
static_assert(unknown<running>("argument 0", "a default value that needs the running program"));
struct without_bias {
  tk::nn::linear layer{.in = 4, .out = 2, .use_bias = false};
};
struct unsized_vector {
  array scale = array({tk::f32, false, {0}});
};
static_assert(unknown<without_bias>("", ""));  // its bias is f32[0]
static_assert(unknown<unsized_vector>("argument 0.scale", "f32[0] as its default value"));
static_assert(unknown<tk::nn::linear>("argument 0.kernel", "f32[0,0] as its default value"));

constexpr bool state_is_named() {
  const auto f = [n = 2](const numbers& x) { return x * n; };
  return tk::detail::first_unknown<decltype(f), numbers>().argument.view() == "the function";
}
static_assert(state_is_named());
}  // namespace

TEST_CASE("a layer that gets its sizes at run time is traced with them") {
  const auto apply =
      tk::jit([](const tk::nn::linear& layer, const tk::tensor<tk::f32, 4, 3>& x) { return layer(x); }, tk::cpu);
  for (const int out : {2, 5}) {
    tk::nn::linear layer{3, out};
    layer.kernel = tk::ones({3, out});
    layer.bias = tk::ones({out});
    const array y = apply(layer, tk::ones({4, 3}));
    CHECK(y.shape() == tk::shape{4, out});
    CHECK(y.values<float>()[0] == 4.0f);
  }
}
