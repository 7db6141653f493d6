// tests/transforms/jvp.cpp: directional derivatives, and Hessian-vector products three ways.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct parameters {
  array weight, bias;
};
constexpr auto f = [](const parameters& p) { return mean(square(tanh(matmul(p.weight, exp(p.weight)) + p.bias))); };
parameters point() { return {noise({4, 4}, 1), noise({4}, 2)}; }
parameters direction() { return {noise({4, 4}, 3), noise({4}, 4)}; }
void check_close(const parameters& a, const parameters& b) {
  CHECK(difference(to_values(std::vector{a.weight, a.bias}), to_values(std::vector{b.weight, b.bias}), 5e-6) == "");
}
}  // namespace

TEST_CASE("jvp gives the value and the derivative along a direction") {
  const auto [y, dy] = jvp(f, point(), direction());
  const parameters g = grad(f)(point()), d = direction();
  CHECK(y.item() == f(point()).item());
  CHECK(dy.item() == Approx((sum(g.weight * d.weight) + sum(g.bias * d.bias)).item()).epsilon(1e-5));
}

TEST_CASE("Hessian-vector products three ways agree") {
  const parameters forward_over_reverse = jvp(grad(f), point(), direction()).second;
  const parameters reverse_over_reverse = grad([](const parameters& p) {
    const parameters g = grad(f)(p), d = direction();
    return sum(g.weight * d.weight) + sum(g.bias * d.bias);
  })(point());
  const parameters reverse_over_forward =
      grad([](const parameters& p) { return jvp(f, p, direction()).second; })(point());
  check_close(forward_over_reverse, reverse_over_reverse);
  check_close(forward_over_reverse, reverse_over_forward);

  // and against differences of the gradient, which the reference computes in double
  const function gradient = vjp_of([](const arrays& x) -> arrays { return f({x[0], x[1]}); }, 2);
  const parameters x = point(), d = direction();
  auto at = [&](double h) {
    values v = to_values(std::vector<array>{x.weight, x.bias, ones({})});
    const values t = to_values(std::vector{d.weight, d.bias});
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < v[k].data.size(); ++i) v[k].data[i] += h * t[k].data[i];
    return evaluate(trace(gradient, types_of(v)), v);
  };
  values expected = at(1e-4);
  const values before = at(-1e-4);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < expected[k].data.size(); ++i)
      expected[k].data[i] = (expected[k].data[i] - before[k].data[i]) / 2e-4;
  CHECK(difference(to_values(std::vector{forward_over_reverse.weight, forward_over_reverse.bias}), expected, 1e-5) ==
        "");
}

TEST_CASE("a whole Hessian is the jvp of the gradient along every unit vector") {
  const auto h = [](const array& x) { return sum(x * x * x) + square(sum(x)); };
  const array x = array::from<float>({1, 2, 3});
  const array hessian = vmap([&](const array& e) { return jvp(grad(h), x, e).second; })(eye(3));
  CHECK(to_value(hessian).data == std::vector<double>{8, 2, 2, 2, 14, 2, 2, 2, 20});
}

TEST_CASE("jvp of vjp, vjp of jvp and jvp of jvp match finite differences") {
  const function base = [](const arrays& x) -> arrays { return f({x[0], x[1]}); };
  const std::vector<array> x{noise({4, 4}, 1), noise({4}, 2), noise({4, 4}, 3), noise({4}, 4)};
  check_function(jvp_of(base, 2), x, {.tolerance = 1e-5, .batch = false, .order = 1});
}

TEST_CASE("tangents of integers do not exist") {
  const auto k = [](const array& x) { return astype(round(x), i32); };
  CHECK(to_value(jvp(k, noise({3}, 1), ones({3})).second).data == std::vector<double>{0, 0, 0});
}

TEST_CASE("a tuple holds the arguments of a function of several, and aux comes third") {
  const auto product = [](const array& a, const array& b) { return a * b; };
  const array a = noise({3}, 1), b = noise({3}, 2), da = noise({3}, 3);
  const auto [y, dy] = jvp(product, std::tuple{a, b}, std::tuple{da, ones({3})});
  CHECK(difference({to_value(dy)}, {to_value(da * b + a)}, 1e-6) == "");
  CHECK(jvp(product, std::tuple{2.0f, 3.0f}, std::tuple{1.0f, 0.0f}).second.item() == 3);
  CHECK(jvp([](const array& x) { return x * x; }, 3.0f, 1.0f).second.item() == 6);
  const auto [v, dv, aux] = jvp([](const array& x) { return std::pair{x * x, x + 1.0f}; }, 3.0f, 2.0f, has_aux);
  CHECK(v.item() == 9);
  CHECK(dv.item() == 12);
  CHECK(aux.item() == 4);
}
