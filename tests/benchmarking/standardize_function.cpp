// tests/benchmarking/standardize_function.cpp: each mode computes what it says, on data of the asked types.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/standardize_function.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
using tk::benchmark_mode;

constexpr auto f = [](const tk::array& x, const tk::array& w) { return tk::tanh(tk::matmul(x, w)); };
const tk::array x = tk::reshape(tk::arange(6) * 0.1f, {2, 3});
const tk::array w = tk::reshape(tk::arange(12) * 0.05f, {3, 4});

void check_equal(const tk::array& a, const tk::array& b) {
  REQUIRE(a.type() == b.type());
  for (std::int64_t i = 0; i < a.size(); ++i) CHECK(a.data<float>()[i] == b.data<float>()[i]);
}
}  // namespace

TEST_CASE("all modes compute what the function and its vjp do") {
  const auto [y, pullback] = tk::vjp(f, x, w);
  const auto [dx, dw] = pullback(y);
  check_equal(tk::standardize_function(f, x, w)(), y);

  const auto [value, residuals] = tk::standardize_function<benchmark_mode::forward_res>(f, x, w)();
  check_equal(value, y);
  CHECK(residuals.size() <= pullback.residuals().size());

  const auto backward = tk::standardize_function<benchmark_mode::vjp>(f, x, w);
  check_equal(std::get<0>(backward.arguments), y);
  check_equal(std::get<0>(backward()), dx);
  check_equal(std::get<1>(backward()), dw);

  const auto both = tk::standardize_function<benchmark_mode::forward_and_vjp>(f, x, w);
  const auto [again, grads] = std::apply(tk::jit(both.function, tk::cpu), both.arguments);
  check_equal(again, y);
  check_equal(std::get<0>(grads), dx);
  check_equal(std::get<1>(grads), dw);
}

TEST_CASE("residuals are the values that a program has to store") {
  const auto deep = [](const tk::array& a) { return tk::sin(tk::sin(a)); };
  const auto s = tk::standardize_function<benchmark_mode::forward_res>(deep, x);
  const auto traced = tk::jit(s.function, tk::cpu)(x);
  REQUIRE(traced.second.size() >= 1);  // cos of the argument and of the first sine, or that sine
  for (const tk::array& r : traced.second) CHECK(r.shape() == x.shape());
}

TEST_CASE("abstract arguments get data, the same for the same seed; types are arguments too") {
  const tk::array_type type{tk::f32, false, {5}};
  const auto twice = [](const tk::array& a, const tk::array& b) { return a * 2.0f + b * 0.0f; };
  const auto s = tk::standardize_function(twice, tk::array(type), type);
  const auto [a, b] = s.arguments;
  CHECK(a.data<float>()[0] != b.data<float>()[0]);
  check_equal(s(), a * 2.0f);
  check_equal(std::get<0>(tk::standardize_function(twice, type, type).arguments), a);
  const auto other = tk::standardize_function(twice, {.seed = 7}, type, type);
  CHECK(std::get<0>(other.arguments).data<float>()[0] != a.data<float>()[0]);
}

TEST_CASE("what cannot be differentiated is refused") {
  const auto sums = [](const tk::array& a) { return tk::sum(a); };
  const tk::array whole = tk::arange(4);
  CHECK(tk::standardize_function(sums, whole)().item() == 6);
  CHECK_THROWS_WITH(tk::standardize_function<benchmark_mode::vjp>(sums, whole),
                    contains("mode vjp: arguments: found no floats"));
  const auto order = [](const tk::array& a) { return tk::argmax(a, 0); };
  CHECK_THROWS_WITH(tk::standardize_function<benchmark_mode::forward_and_vjp>(order, whole * 1.0f),
                    contains("mode forward_and_vjp: result: found no floats"));
  CHECK(std::get<0>(tk::standardize_function<benchmark_mode::vjp>(sums, tk::zeros({0})).arguments).item() == 0);
}
