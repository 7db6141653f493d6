// tests/transforms/checks/check_grads.cpp: right derivatives pass, and a wrong one is named.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/checks/check_grads.hpp>

#include "support/check_op.hpp"
#include "support/error_of.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
std::string error_with(const auto& f, const auto& args, const check_grads_options& o = {}) {
  return error_of([&] { check_grads(f, args, o); });
}

/// Twice the operand in f. The rule that `Wrong` names gives three times as much at element 4, and a little more at the next:
/// 'v', 'j', or '2' for the rule of that rule.
template <char Wrong>
array twice(const array& x);
array spoiled(const array& ct) {
  const array number = reshape(iota(i32, {ct.size()}, 0), ct.shape());
  return 2.0f * ct + select(number == 4, 4.0f * ct, select(number == 5, 0.5f * ct, 0.0f * ct));
}
template <char Wrong>
constexpr op twice_p{
    .name = Wrong == 'v' ? "wrong_vjp" : "wrong_jvp",
    .infer = [](const call& c) { return c[0].type(); },
    .compose = [](const call& c) -> arrays { return c[0] + c[0]; },
    .vjp = [](const call& c) -> arrays { return Wrong == 'v' ? spoiled(c.ct()) : 2.0f * c.ct(); },
    .jvp = [](const call& c) -> arrays { return Wrong == 'j' ? spoiled(c.tangents[0]) : 2.0f * c.tangents[0]; },
};
template <char Wrong>
array twice(const array& x) {
  return bind(twice_p<Wrong>, {x}, words{}, location{});
}
}  // namespace

TEST_CASE("right derivatives pass, in f32 and in f64, of arguments that are trees and of integers too") {
  const auto f = [](const std::pair<array, array>& w, const array& x, const array& n) {
    return sum(tanh(matmul(x, w.first) + w.second)) * convert_element_type(n, x.dtype());
  };
  for (const dtype t : {f32, f64}) {
    const std::pair w{noise({3, 2}, 1, t), noise({2}, 2, t)};
    CHECK(error_with(f, std::tuple{w, noise({4, 3}, 3, t), array(2, {i32, false, {}})}) == "none");
  }
  const auto loop = [](const array& x) {
    return scan([](const array& c, const array& v) { return std::pair{sin(c) + v, c * v}; }, x[0], x).second;
  };
  CHECK(error_with(loop, noise({4}, 1), {.order = 3}) == "none");
  CHECK(error_with([](const array& x) { return sin(x); }, noise({0}, 1)) == "none");
}

TEST_CASE("a wrong rule is named with its op, operand and element") {
  const array x = noise({2, 3}, 1);
  const auto v = [](const array& a) { return sum(twice<'v'>(sin(a)) * a); };
  CHECK_THAT(error_with(v, x), contains("check_grads: vjp of wrong_vjp: found operand 0, element [1,1]: "));
  CHECK(error_with(v, x, {.order = 1, .reverse = false}) == "none");
  const auto j = [](const array& a) { return twice<'j'>(sin(a)) * a; };
  CHECK_THAT(error_with(j, x), contains("check_grads: jvp of wrong_jvp: found operand 0, result element [1,1]: "));
  CHECK(error_with(j, x, {.order = 1, .forward = false}) == "none");
}

TEST_CASE("a rule that is wrong only where it is differentiated is found at order 2") {
  // the derivative is right, but its own derivative is missing
  const auto cube = custom_jvp(
      [](const array& x) { return x * x * x; },
      [](const array& x, const array& dx) { return std::pair{x * x * x, 3.0f * stop_gradient(x * x) * dx}; });
  const array x = noise({3}, 2);
  CHECK(error_with(cube, x, {.order = 1}) == "none");
  CHECK_THAT(error_with(cube, x), contains("check_grads: jvp of jvp: found argument 0, result element ["));
}

TEST_CASE("what has no reverse mode is checked in forward mode") {
  const auto f = [](const array& x) {
    return while_loop([](const array& v) { return sum(abs(v)) < 4.0f; }, [](const array& v) { return v * 1.5f; }, x);
  };
  const array x = noise({3}, 2);
  CHECK(error_with(f, x, {.reverse = false}) == "none");
  CHECK_THAT(error_with(f, x), contains("while_loop: reverse mode"));
}
