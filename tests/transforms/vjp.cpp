// tests/transforms/vjp.cpp: pullbacks, which run many times.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct parameters {
  array weight, bias;
};
constexpr auto layer = [](const parameters& p, const array& x) { return tanh(matmul(x, p.weight) + p.bias); };
bool same_bits(const array& a, const array& b) { return bit_difference({a}, {b}).empty(); }
}  // namespace

TEST_CASE("a pullback takes a cotangent for every leaf of the value") {
  const auto f = [](const array& x) { return std::pair{x * 2.0f, sum(x)}; };
  const array x = noise({3}, 1);
  const auto [y, pullback] = vjp(f, x);
  const auto g = pullback(std::pair{array(ones({3})), array(10.0f)});
  CHECK(same_bits(y.first, x * 2.0f));
  CHECK(to_value(g).data == std::vector<double>{12, 12, 12});
}

TEST_CASE("a pullback of several arguments runs as often as it is called") {
  const parameters p{noise({3, 2}, 1), noise({2}, 2)};
  const array x = noise({4, 3}, 3);
  const auto [y, pullback] = vjp(layer, p, x);
  CHECK(same_bits(y, layer(p, x)));
  for (unsigned seed : {5u, 6u, 5u}) {
    const array ct = noise({4, 2}, seed);
    const auto [dp, dx] = pullback(ct);
    const auto [gp, gx] = grad<0, 1>([&](const parameters& q, const array& v) { return sum(layer(q, v) * ct); })(p, x);
    CHECK(difference(to_values(std::vector{dp.weight, dp.bias, dx}), to_values(std::vector{gp.weight, gp.bias, gx}),
                     2e-6) == "");
  }
}

TEST_CASE("numbers, integers and values that no result depends on") {
  const auto [y, pullback] =
      vjp([](const array& a, const array& n, const array&) { return a * n; }, 2.0f, 3, noise({2}, 1));
  CHECK(y.item() == 6);
  const auto [da, dn, none] = pullback(1.0f);
  CHECK(da.item() == 3);
  CHECK(dn.type() == array_type{i32, false, {}});
  CHECK(dn.item() == 0);
  CHECK(to_value(none).data == std::vector<double>{0, 0});
  const auto [zero, nowhere] = vjp([](const array&) { return zeros({2}); }, noise({3}, 1));
  CHECK(to_value(nowhere(ones({2}))).data == std::vector<double>{0, 0, 0});
  const auto [empty, of_empty] = vjp([](const array& a) { return sin(a); }, zeros({0, 3}));
  CHECK(of_empty(zeros({0, 3})).shape() == shape{0, 3});
  const auto [same, identity] = vjp([](const array& a) { return a; }, noise({3}, 1));
  CHECK(same_bits(identity(ones({3})), ones({3})));
}

TEST_CASE("pullbacks of loops, of what is computed again and of functions with values around them") {
  const array w = noise({2, 2}, 1), x = noise({2, 2}, 2), ct = noise({2, 2}, 3);
  const auto loop = [&](const array& a) {
    return scan([&](const array& s, const array& e) { return std::pair{sin(s * w + a), s * e}; }, a, ones({4})).first;
  };
  const auto again = [&](const array& a) { return remat([&](const array& b) { return sin(b * w) * b; })(a); };
  const auto expected = [&](const auto& f) { return grad([&](const array& a) { return sum(f(a) * ct); })(x); };
  CHECK(difference({to_value(vjp(loop, x).second(ct))}, {to_value(expected(loop))}, 2e-6) == "");
  CHECK(difference({to_value(vjp(again, x).second(ct))}, {to_value(expected(again))}, 2e-6) == "");
}

TEST_CASE("pullbacks in vmap, in gradients and in loops") {
  const auto f = [](const array& a) { return sin(a) * a; };
  const array x = noise({3, 2}, 1);
  const auto slope = [&](const array& a) { return vjp(f, a).second(ones({2})); };
  CHECK(difference({to_value(vmap(slope)(x))}, {to_value(cos(x) * x + sin(x))}, 2e-6) == "");
  const array v = noise({2}, 2);
  const array second = grad([&](const array& a) { return sum(vjp(f, a).second(v)); })(noise({2}, 3)), a = noise({2}, 3);
  CHECK(difference({to_value(second)}, {to_value(v * (2.0f * cos(a) - sin(a) * a))}, 4e-6) == "");
  // made outside of the loop, called inside
  const auto [y, pullback] = vjp(f, v);
  const auto& back = pullback;
  const array last = scan([&](const array& s, const nothing&) { return std::pair{back(s), nothing{}}; }, ones({2}),
                          nothing{}, {.length = 3})
                         .first;
  CHECK(difference({to_value(last)}, {to_value(back(back(back(ones({2})))))}, 2e-6) == "");
}

TEST_CASE("pullbacks in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto f = [](const numbers& a, const numbers& b) {
    const auto [y, pullback] =
        vjp([](const array& x, const array& z) { return std::pair{x * sin(z), exp(x)}; }, array(a), array(b));
    return std::tuple{y, pullback(std::pair{array(b), array(a)}), pullback(y)};
  };
  const numbers a = noise({3}, 1), b = noise({3}, 2);
  const auto known = leaves(jit(f, cpu, while_compiling)(a, b)), late = leaves(jit(f, cpu, at_run_time)(a, b)),
             eager = leaves(f(a, b));
  REQUIRE(known.count() == 6);
  for (int k = 0; k < 6; ++k) {
    CHECK(same_bits(known[k], late[k]));
    CHECK(same_bits(known[k], eager[k]));
  }
}

TEST_CASE("cotangents of other types are refused at the call") {
  const auto [y, pullback] = vjp([](const array& a) { return a * 2.0f; }, noise({3}, 1));
  const auto& back = pullback;
  CHECK_THROWS_WITH(back(ones({2})), contains("vjp: cotangents: found f32[2], expected the type of its leaf, f32[3]") &&
                                         contains("vjp.cpp"));
  CHECK_THROWS_WITH(back(ones({3}, bf16)), contains("found bf16[3]"));
  CHECK_THROWS_WITH(back(std::pair{array(ones({3})), array(ones({3}))}), contains("found 2 leaves, expected 1"));
}
