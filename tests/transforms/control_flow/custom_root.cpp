// tests/transforms/control_flow/custom_root.cpp: derivatives of roots, whatever the way to them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/reduce.hpp>
#include <tokamax/transforms/control_flow/custom_root.hpp>
#include <tokamax/transforms/control_flow/fori_loop.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/error_of.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr auto by_division = [](const auto& g, const array& y) { return y / g(0.0f * y + 1.0f); };
/// Newton's method for functions of single elements.
constexpr auto newton = [](const auto& f, const array& x) {
  return fori_loop(
      0, 30,
      [&](const array&, const array& v) {
        const auto [y, slope] = jvp(f, v, 0.0f * v + 1.0f);
        return v - y / slope;
      },
      x);
};
/// The same until it is close, which has no reverse mode.
constexpr auto until_close = [](const auto& f, const array& x) {
  return while_loop([&](const array& v) { return max(abs(f(v))) > 1e-5f; },
                    [&](const array& v) { return v - f(v) / jvp(f, v, 0.0f * v + 1.0f).second; }, x);
};
/// The x with x^3 + (1 + a^2) x = b.
array cubic(const array& a, const array& b, const auto& solve) {
  return custom_root([&](const array& x) { return x * x * x + (1.0f + a * a) * x - b; }, 0.0f * b, solve, by_division);
}
}  // namespace

TEST_CASE("custom_root keeps the contract: derivatives of any order are those of the steps, and batches") {
  check_function([](const arrays& a) -> arrays { return cubic(a[0], a[1], newton); }, {noise({3}, 1), noise({3}, 2)});
}

TEST_CASE("a root by a loop without reverse mode has gradients, also of gradients and in batches") {
  const array a = noise({3}, 1), b = noise({3}, 2);
  const auto loss = [&](const array& p) { return sum(sin(cubic(p, b, until_close))); };
  const auto gradient = grad(loss);
  const array x = cubic(a, b, until_close);
  // dx/da = -2 a x / (3 x^2 + 1 + a^2)
  CHECK(difference({to_value(gradient(a))}, {to_value(cos(x) * -2.0f * a * x / (3.0f * x * x + 1.0f + a * a))}, 1e-5) ==
        "");
  const auto steps = [&](const array& p) { return sum(sin(cubic(p, b, newton))); };
  const auto second = [&](const auto& f) { return grad([&](const array& p) { return sum(square(grad(f)(p))); })(a); };
  CHECK(difference({to_value(second(loss))}, {to_value(second(steps))}, 1e-4) == "");
  const array many = noise({4, 3}, 3);
  CHECK(difference({to_value(vmap(grad(loss))(many))}, {to_value(vmap(grad(steps))(many))}, 1e-5) == "");
}

TEST_CASE("the guess has no derivative") {
  const array p = array(2.0f);
  const auto root = [&](const array& guess) {
    return custom_root([&](const array& x) { return x * x - p; }, guess, newton, by_division);
  };
  CHECK(root(array(1.5f)).item() == Approx(std::sqrt(2.0f)));
  CHECK(grad(root)(array(1.5f)).item() == 0);
}

TEST_CASE("custom_root of numbers that kernels easily get wrong") {
  const auto doubled = [](const array& x) { return x + x; };
  const auto halved = [](const auto&, const array& y) { return y * array(0.5, {y.dtype(), false, {}}); };
  for (const dtype t : {f32, bf16})
    check_adversarial([&](const arrays& x) -> arrays { return custom_root(doubled, x[0], halved, halved); },
                      {adversarial({9, 37}, 3, t)});
}

TEST_CASE("custom_root: errors") {
  const array x = noise({3}, 1);
  const auto identity = [](const array& v) { return v; };
  const auto shorter = [](const auto&, const array& v) { return v[0]; };
  CHECK_THAT(error_of([&] { custom_root(identity, x, shorter, by_division); }),
             contains("custom_root: root: found f32[], expected f32[3]"));
  CHECK_THAT(error_of([&] { custom_root([](const array& v) { return v[0]; }, x, newton, by_division); }),
             contains("found f32[]"));
  CHECK_THAT(error_of([&] { custom_root(identity, x, newton, shorter); }), contains("custom_root: tangent"));
}
