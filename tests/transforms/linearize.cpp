// tests/transforms/linearize.cpp: derivatives as functions that run many times.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/linearize.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct parameters {
  array weight, bias;
};
constexpr auto layer = [](const parameters& p, const array& x) {
  return std::pair{tanh(matmul(x, p.weight) + p.bias), sum(x)};
};
void check_close(const arrays& found, const arrays& expected) {
  CHECK(difference(to_values(found), to_values(expected), 2e-6) == "");
}
}  // namespace

TEST_CASE("with has_aux f returns more than is differentiated") {
  const array x = noise({3}, 1), dx = noise({3}, 2);
  const auto f = [](const array& v) { return std::pair{sin(v), std::pair{v * 2.0f, argmax(v)}}; };
  const auto [y, derivative, aux] = linearize(f, has_aux, x);
  check_close({y, aux.first, derivative(dx)}, {sin(x), x * 2.0f, cos(x) * dx});
  CHECK(aux.second.item() == argmax(x).item());
  const auto [z, pullback, more] = vjp(f, has_aux, x);
  check_close({z, more.first, pullback(dx)}, {sin(x), x * 2.0f, cos(x) * dx});
  const auto product = [](const array& a, const array& b) { return std::pair{a * b, a}; };
  const auto [p, back, first] = vjp(product, has_aux, x, dx);
  const auto [ca, cb] = back(ones({3}));
  check_close({p, ca, cb, first}, {x * dx, dx, x, x});
}

TEST_CASE("a linearised function gives the derivative along every direction") {
  const parameters p{noise({3, 2}, 1), noise({2}, 2)};
  const array x = noise({4, 3}, 3);
  const auto [y, derivative] = linearize(layer, p, x);
  check_close(leaves(y), leaves(layer(p, x)));
  for (unsigned seed : {5u, 6u, 5u}) {
    const parameters dp{noise({3, 2}, seed), noise({2}, seed + 10)};
    const array dx = noise({4, 3}, seed + 20);
    check_close(leaves(derivative(dp, dx)), leaves(jvp(layer, std::tuple{p, x}, std::tuple{dp, dx}).second));
  }
}

TEST_CASE("linearize in vmap and in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto f = [](const numbers& a, const numbers& b) {
    const auto [y, derivative] =
        linearize([](const array& x, const array& z) { return x * sin(z); }, array(a), array(b));
    const array each =
        vmap([](const array& x) { return linearize([](const array& v) { return v * v; }, x).second(2.0f); })(array(a));
    return std::tuple{y, derivative(array(b), array(a)), derivative(y, y), each};
  };
  const numbers a = noise({3}, 1), b = noise({3}, 2);
  const auto known = leaves(jit(f, cpu, while_compiling)(a, b)), late = leaves(jit(f, cpu, at_run_time)(a, b)),
             eager = leaves(f(a, b));
  REQUIRE(known.count() == 4);
  for (int k = 0; k < 4; ++k) {
    CHECK(bit_difference({known[k]}, {late[k]}).empty());
    CHECK(bit_difference({known[k]}, {eager[k]}).empty());
  }
  check_close(eager[3], array(a) * 4.0f);
}

TEST_CASE("integers have no tangents; results that do not depend have none but zero") {
  const auto [y, derivative] =
      linearize([](const array& x, const array& n) { return std::pair{x * n, n}; }, noise({2}, 1), array(3));
  const auto t = derivative(ones({2}), array(7));
  CHECK(to_value(t.first).data == std::vector<double>{3, 3});
  CHECK(t.second.type() == array_type{i32, false, {}});
  CHECK(t.second.item() == 0);
  const auto& d = derivative;
  CHECK_THROWS_WITH(d(ones({3}), array(7)),
                    contains("linearize: tangents: found f32[3], expected the type of its leaf, f32[2]"));
  CHECK_THROWS_WITH(d(ones({2})), contains("found 1 leaves, expected 2"));
}
