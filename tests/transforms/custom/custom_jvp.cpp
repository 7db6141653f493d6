// tests/transforms/custom/custom_jvp.cpp: functions whose derivative is a rule. The rules are wrong by purpose: that shows who is asked.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/custom/custom_jvp.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// sin(x) with the derivative 3 cos(x).
constexpr auto f = custom_jvp([](const array& x) { return sin(x); },
                              [](const array& x, const array& dx) { return std::pair{sin(x), 3.0f * cos(x) * dx}; });
/// x y with the derivative 2 y dx + 5 x dy.
constexpr auto product = custom_jvp([](const array& x, const array& y) { return x * y; },
                                    [](const array& x, const array& y, const array& dx, const array& dy) {
                                      return std::pair{x * y, 2.0f * y * dx + 5.0f * x * dy};
                                    });
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 2e-6) == "");
}
}  // namespace

TEST_CASE("custom_jvp: forward and reverse mode use the rule, values the function") {
  const array x = noise({3}, 1), dx = noise({3}, 2);
  check_close(f(x), sin(x));
  const auto [y, dy] = jvp(f, x, dx);
  check_close(y, sin(x));
  check_close(dy, 3.0f * cos(x) * dx);
  check_close(grad([](const array& a) { return sum(f(a) * a); })(x), 3.0f * cos(x) * x + sin(x));
  CHECK(grad(f)(0.0f).item() == 3);
  // the second derivative differentiates the rule
  CHECK(grad(grad(f))(1.0f).item() == Approx(-3 * std::sin(1.0)).epsilon(1e-5));
}

TEST_CASE("custom_jvp: arguments are trees, and each has its tangent") {
  const array x = noise({3}, 1), y = noise({3}, 2), ones3 = ones({3});
  check_close(jvp(product, std::tuple{x, y}, std::tuple{ones3, zeros({3})}).second, 2.0f * y);
  const auto [gx, gy] = grad<0, 1>([](const array& a, const array& b) { return sum(product(a, b)); })(x, y);
  check_close(gx, 2.0f * y);
  check_close(gy, 5.0f * x);
  check_close(grad([](const array& a) { return sum(product(a, a)); })(x), 7.0f * x);

  using pair = std::pair<array, array>;
  const auto scaled =
      custom_jvp([](const pair& p) { return pair{p.first * astype(p.second, f32), p.second}; },
                 [](const pair& p, const pair& d) {
                   return std::pair{pair{p.first * astype(p.second, f32), p.second}, pair{d.first * 10.0f, d.second}};
                 });
  const array n = array::from<std::int32_t>({2, 3, 4});
  const auto [value, tangent] = jvp(scaled, pair{x, n}, pair{y, n});
  check_close(tangent.first, y * 10.0f);
  CHECK(to_value(tangent.second).data == std::vector<double>{0, 0, 0});  // integers have none
}

TEST_CASE("custom_jvp: the rule survives vmap, in either order, with arguments that are shared") {
  const array x = noise({4, 3}, 1), y = noise({3}, 2);
  check_close(vmap(grad([](const array& a) { return sum(f(a)); }))(x), 3.0f * cos(x));
  check_close(grad([](const array& a) { return sum(vmap(f)(a)); })(x), 3.0f * cos(x));
  const auto rows = [](const array& a, const array& b) {
    return sum(vmap(product, {.in_axes = {0, not_mapped}})(a, b));
  };
  const auto [gx, gy] = grad<0, 1>(rows)(x, y);
  check_close(gx, broadcast_to(2.0f * y, {4, 3}));
  check_close(gy, 5.0f * sum(x, {{0}}));
  check_close(jvp(vmap(f), x, x).second, 3.0f * cos(x) * x);
  check_close(vmap(vmap(grad(f)))(x), 3.0f * cos(x));
}

TEST_CASE("custom_jvp: in loops, in what is computed again, and of each other") {
  const array x = noise({3}, 1);
  const auto loop = [](const array& a) {
    return sum(
        scan([](const array& s, const nothing&) { return std::pair{f(s), nothing{}}; }, a, nothing{}, {.length = 2})
            .first);
  };
  check_close(grad(loop)(x), 9.0f * cos(x) * cos(sin(x)));
  check_close(grad([](const array& a) { return sum(remat(f)(a)); })(x), 3.0f * cos(x));
  const auto outer = custom_jvp([](const array& a) { return f(a) * 2.0f; },
                                [](const array& a, const array& da) {
                                  const auto [y, dy] = jvp(f, a, da);
                                  return std::pair{y * 2.0f, dy * 100.0f};
                                });
  check_close(grad([&](const array& a) { return sum(outer(a)); })(x), 300.0f * cos(x));
  const auto through = [](const array& a) {
    return sum(vmap([](const array& e) {
      return scan([](const array& s, const nothing&) { return std::pair{f(s), nothing{}}; }, e, nothing{},
                  {.length = 2})
          .first;
    })(a));
  };
  check_close(grad(through)(x), 9.0f * cos(x) * cos(sin(x)));
}

TEST_CASE("custom_jvp: rules in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto all = [](const numbers& x, const numbers& y) {
    const auto total = [](const array& a, const array& b) { return sum(vmap(f)(product(a, b))); };
    return std::tuple{grad<0, 1>(total)(array(x), array(y)), f(array(x)),
                      jvp(product, std::tuple{array(x), array(y)}, std::tuple{array(y), array(x)})};
  };
  const numbers x = noise({3}, 1), y = noise({3}, 2);
  const auto known = leaves(jit(all, cpu, while_compiling)(x, y)), late = leaves(jit(all, cpu, at_run_time)(x, y)),
             eager = leaves(all(x, y));
  for (int k = 0; k < 5; ++k) {
    CHECK(bit_difference({known[k]}, {late[k]}).empty());
    CHECK(bit_difference({known[k]}, {eager[k]}).empty());
  }
  check_close(eager[0], 6.0f * cos(array(x) * array(y)) * array(y));
}

TEST_CASE("custom_jvp: values that are closed over are constant, and no derivative is taken for them") {
  const array w = noise({3}, 1), x = noise({3}, 2);
  const auto scaled = [](const array& s) {
    return custom_jvp([=](const array& a) { return a * s; },
                      [=](const array& a, const array& da) { return std::pair{a * s, da * s * 4.0f}; });
  };
  check_close(grad([&](const array& a) { return sum(scaled(w)(a)); })(x), w * 4.0f);
  check_close(vmap([&](const array& s) { return grad([&](const array& a) { return scaled(s)(a); })(2.0f); })(w),
              w * 4.0f);
  check_close(grad([&](const array& s) { return sum(scaled(stop_gradient(s))(x) * s); })(w), x * w);
  CHECK_THROWS_WITH(grad([&](const array& s) { return sum(scaled(s)(x)); })(w),
                    contains("custom_jvp: derivative: found with respect to a value that the function closes over"));
  CHECK_THROWS_WITH(jvp([&](const array& s) { return sum(scaled(s)(x)); }, w, w), contains("custom_jvp: derivative"));
}

TEST_CASE("custom_jvp: rules with other values or tangents are refused by name, with the user's line") {
  const auto identity = [](const array& x) { return x; };
  const array x = noise({3}, 1);
  CHECK_THROWS_WITH(
      custom_jvp(identity, [](const array& a, const array& d) { return std::pair{a, sum(d)}; })(x),
      contains("custom_jvp: tangent of the rule: found f32[], expected f32[3]") && contains("custom_jvp.cpp"));
  CHECK_THROWS_WITH(
      custom_jvp(identity, [](const array& a, const array& d) { return std::pair{astype(a, bf16), d}; })(x),
      contains("custom_jvp: value of the rule: found bf16[3], expected f32[3]"));
  CHECK_THROWS_WITH(
      custom_jvp(identity, [](const array& a, const array& d) { return std::pair{a, std::pair{d, d}}; })(x),
      contains("custom_jvp: tangent of the rule: found 2 leaves, expected 1"));
}
