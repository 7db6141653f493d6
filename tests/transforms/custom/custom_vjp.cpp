// tests/transforms/custom/custom_vjp.cpp: functions whose gradient is a rule. The rules are wrong by purpose: that shows who is asked.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/custom/custom_vjp.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// sin(x) with the gradient 3 cos(x).
constexpr auto f =
    custom_vjp([](const array& x) { return sin(x); }, [](const array& x) { return std::pair{sin(x), cos(x)}; },
               [](const array& slope, const array& ct) { return 3.0f * slope * ct; });
/// x y with the gradients 2 y and 5 x.
constexpr auto product = custom_vjp([](const array& x, const array& y) { return x * y; },
                                    [](const array& x, const array& y) { return std::pair{x * y, std::pair{x, y}}; },
                                    [](const std::pair<array, array>& known, const array& ct) {
                                      return std::tuple{2.0f * known.second * ct, 5.0f * known.first * ct};
                                    });
/// x, whose cotangents are clipped.
constexpr auto clipped =
    custom_vjp([](const array& x) { return x; }, [](const array& x) { return std::pair{x, nothing{}}; },
               [](const nothing&, const array& ct) { return maximum(minimum(ct, 1.0f), -1.0f); });
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 2e-6) == "");
}
}  // namespace

TEST_CASE("custom_vjp: forward mode over reverse mode differentiates the rules") {
  const auto cube = custom_vjp([](const array& x) { return x * x; }, [](const array& x) { return std::pair{x * x, x}; },
                               [](const array& x, const array& ct) { return 3.0f * x * x * ct; });
  const auto derivative = [&](const array& x) { return vjp(cube, x).second(array(1.0f)); };
  CHECK(derivative(array(2.0f)).item() == 12.0f);
  CHECK(jvp(derivative, array(2.0f), array(1.0f)).second.item() == 12.0f);
}

TEST_CASE("custom_vjp: gradients use the rule, values the function") {
  const array x = noise({3}, 1), ct = noise({3}, 2);
  check_close(f(x), sin(x));
  check_close(vjp(f, x).second(ct), 3.0f * cos(x) * ct);
  check_close(grad([](const array& a) { return sum(f(a) * a); })(x), 3.0f * cos(x) * x + sin(x));
  check_close(grad([](const array& a) { return sum(clipped(a) * array{5, 0.5, -7}); })(x), array{1, 0.5, -1});
  const auto [gx, gy] = grad<0, 1>([](const array& a, const array& b) { return sum(product(a, b)); })(x, ct);
  check_close(gx, 2.0f * ct);
  check_close(gy, 5.0f * x);
  // the second derivative differentiates the rule
  CHECK(grad(grad(f))(1.0f).item() == Approx(-3 * std::sin(1.0)).epsilon(1e-5));
}

TEST_CASE("custom_vjp: trees with several results, of which some have no cotangent, and integers") {
  struct model {
    array w, steps;
  };
  const auto g =
      custom_vjp([](const model& m, const array& x) { return std::pair{m.w * x, m.w + x}; },
                 [](const model& m, const array& x) { return std::pair{std::pair{m.w * x, m.w + x}, m}; },
                 [](const model& m, const std::pair<array, array>& ct) {
                   return std::tuple{model{ct.first * 10.0f + ct.second, m.steps}, ct.first * 100.0f + ct.second};
                 });
  const model m{noise({2}, 1), array::from<std::int32_t>({1, 2})};
  const array x = noise({2}, 2);
  const auto [gm, gx] = grad<0, 1>([&](const model& p, const array& a) { return sum(g(p, a).first); })(m, x);
  CHECK(to_value(gm.w).data == std::vector<double>{10, 10});
  CHECK(to_value(gm.steps).data == std::vector<double>{0, 0});
  CHECK(to_value(gx).data == std::vector<double>{100, 100});
}

TEST_CASE("custom_vjp: the rule survives vmap, in either order; shared arguments get the sum") {
  const array x = noise({4, 3}, 1), y = noise({3}, 2);
  check_close(vmap(grad([](const array& a) { return sum(f(a)); }))(x), 3.0f * cos(x));
  check_close(grad([](const array& a) { return sum(vmap(f)(a)); })(x), 3.0f * cos(x));
  const auto rows = [](const array& a, const array& b) {
    return sum(vmap(product, {.in_axes = {0, not_mapped}})(a, b));
  };
  const auto [gx, gy] = grad<0, 1>(rows)(x, y);
  check_close(gx, broadcast_to(2.0f * y, {4, 3}));
  check_close(gy, 5.0f * sum(x, {{0}}));
  check_close(vmap(vmap(grad(f)))(x), 3.0f * cos(x));
}

TEST_CASE("custom_vjp: in loops, in what is computed again, and of each other") {
  const array x = noise({3}, 1);
  const auto twice = [](const array& a) {
    return scan([](const array& s, const nothing&) { return std::pair{f(s), nothing{}}; }, a, nothing{}, {.length = 2})
        .first;
  };
  const array expected = 9.0f * cos(x) * cos(sin(x));
  check_close(grad([&](const array& a) { return sum(twice(a)); })(x), expected);
  check_close(grad([&](const array& a) { return sum(vmap(twice)(a)); })(x), expected);
  check_close(vmap(grad(twice))(x), expected);
  check_close(grad([](const array& a) { return sum(remat(f)(a)); })(x), 3.0f * cos(x));
  check_close(grad([&](const array& a) { return sum(remat(twice)(clipped(a) * 0.1f)); })(x),
              0.9f * cos(x * 0.1f) * cos(sin(x * 0.1f)));
  const auto outer = custom_vjp([](const array& a) { return f(f(a)); },
                                [](const array& a) {
                                  const auto [y, pullback] = vjp(f, a);
                                  return std::pair{f(y), pullback(ones({3}))};
                                },
                                [](const array& slope, const array& ct) { return slope * ct * 100.0f; });
  check_close(grad([&](const array& a) { return sum(outer(a)); })(x), 300.0f * cos(x));
}

TEST_CASE("custom_vjp: rules in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto all = [](const numbers& x, const numbers& y) {
    const auto total = [](const array& a, const array& b) { return sum(vmap(f)(product(a, b))); };
    return std::tuple{grad<0, 1>(total)(array(x), array(y)), f(array(x)), vjp(clipped, array(x)).second(array(y))};
  };
  const numbers x = noise({3}, 1), y = noise({3}, 2);
  const auto known = leaves(jit(all, cpu, while_compiling)(x, y)), late = leaves(jit(all, cpu, at_run_time)(x, y)),
             eager = leaves(all(x, y));
  for (int k = 0; k < 4; ++k) {
    CHECK(bit_difference({known[k]}, {late[k]}).empty());
    CHECK(bit_difference({known[k]}, {eager[k]}).empty());
  }
  check_close(eager[0], 6.0f * cos(array(x) * array(y)) * array(y));
}

TEST_CASE("custom_vjp: forward mode, and derivatives of what is closed over, are refused") {
  const array w = noise({3}, 1), x = noise({3}, 2);
  CHECK_THROWS_WITH(jvp(f, x, x), contains("custom_vjp: derivative: found jvp, expected vjp or grad"));
  const auto scaled = [](const array& s) {
    return custom_vjp([=](const array& a) { return a * s; },
                      [=](const array& a) { return std::pair{a * s, nothing{}}; },
                      [=](const nothing&, const array& ct) { return ct * s * 4.0f; });
  };
  check_close(grad([&](const array& a) { return sum(scaled(w)(a)); })(x), w * 4.0f);
  check_close(vmap([&](const array& s) { return grad([&](const array& a) { return scaled(s)(a); })(2.0f); })(w),
              w * 4.0f);
  CHECK_THROWS_WITH(grad([&](const array& s) { return sum(scaled(s)(x)); })(w),
                    contains("custom_vjp: derivative: found with respect to a value that the function closes over"));
}

TEST_CASE("custom_vjp: rules with other values or cotangents are refused by name, with the user's line") {
  const array x = noise({3}, 1);
  const auto identity = [](const array& a) { return a; };
  const auto keep = [](const array& a) { return std::pair{a, a}; };
  CHECK_THROWS_WITH(
      custom_vjp(identity, keep, [](const array&, const array& ct) { return sum(ct); })(x),
      contains("custom_vjp: cotangents of backward: found f32[], expected f32[3]") && contains("custom_vjp.cpp"));
  CHECK_THROWS_WITH(custom_vjp(identity, keep, [](const array&, const array& ct) { return std::pair{ct, ct}; })(x),
                    contains("custom_vjp: cotangents of backward: found 2 leaves, expected 1"));
  CHECK_THROWS_WITH(custom_vjp(
                        identity, [](const array& a) { return std::pair{sum(a), a}; },
                        [](const array&, const array& ct) { return ct; })(x),
                    contains("custom_vjp: value of forward: found f32[], expected f32[3]"));
}

TEST_CASE("a gradient has derivatives in both modes: those of the forward and backward functions") {
  const auto cube =
      custom_vjp([](const array& x) { return x * x * x; }, [](const array& x) { return std::pair{x * x * x, x}; },
                 [](const array& x, const array& ct) { return 3.0f * x * x * ct; });
  const auto loss = [&](const array& x) { return sum(cube(x) * x); };  // the gradient reads the value of the call
  const array x = array::from<float>({0.5f, -1.0f, 2.0f}), t = array::from<float>({1.0f, 2.0f, -1.0f});
  const std::vector<double> expected{3, 24, -48};  // 12 x^2 t
  CHECK(to_value(jvp(grad(loss), x, t).second).data == expected);
  CHECK(to_value(grad([&](const array& v) { return sum(grad(loss)(v) * t); })(x)).data == expected);
  CHECK_THROWS_WITH(jvp(loss, x, t), contains("custom_vjp: derivative"));
}

TEST_CASE("differentiated_custom_vjp of numbers that kernels easily get wrong") {
  const auto doubled =
      custom_vjp([](const array& x) { return x + x; }, [](const array& x) { return std::pair{x + x, nothing{}}; },
                 [](nothing, const array& ct) { return ct + ct; });
  for (const dtype t : {f32, bf16})
    check_adversarial([&](const arrays& x) -> arrays { return vjp(doubled, x[0]).first; },
                      {adversarial({9, 37}, 3, t)});
}
