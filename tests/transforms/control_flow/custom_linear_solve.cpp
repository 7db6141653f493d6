// tests/transforms/control_flow/custom_linear_solve.cpp: derivatives of solutions, whatever the way to them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/control_flow/custom_linear_solve.hpp>
#include <tokamax/transforms/control_flow/fori_loop.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/error_of.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// 60 steps, each of which leaves a third of the error at most.
constexpr auto iterate = [](const auto& product, const array& b) {
  return fori_loop(0, 60, [&](const array&, const array& x) { return x + 0.5f * (b - product(x)); }, b);
};
/// The same until the error is small, which has no reverse mode.
constexpr auto until_small = [](const auto& product, const array& b) {
  return while_loop([&](const array& x) { return max(abs(b - product(x))) > 1e-6f; },
                    [&](const array& x) { return x + 0.5f * (b - product(x)); }, 0.0f * b);
};
array matrix(const array& a) { return 0.3f * a + 2.0f * array::from<float>({1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}); }
array solution(const array& a, const array& b, const auto& solve) {
  return custom_linear_solve([&](const array& x) { return matmul(matrix(a), x); }, b, solve, solve);
}
array symmetric(const array& a, const array& b, bool known) {
  return custom_linear_solve([&](const array& x) { return matmul(matrix(a + transpose(a)), x); }, b, iterate,
                             linear_solve_options{.symmetric = known});
}
}  // namespace

TEST_CASE("custom_linear_solve keeps the contract: derivatives of any order are those of the steps, and batches") {
  check_function([](const arrays& a) -> arrays { return solution(a[0], a[1], iterate); },
                 {noise({3, 3}, 1), noise({3}, 2)});
  check_function([](const arrays& a) -> arrays { return symmetric(a[0], a[1], true); },
                 {noise({3, 3}, 1), noise({3}, 2)}, {.order = 1});
}

TEST_CASE("a solve by a loop without reverse mode has gradients, also of gradients and in batches") {
  const array a = noise({3, 3}, 1), b = noise({3}, 2);
  const auto loss = [&](const auto& solve) {
    return [=](const array& m, const array& y) { return sum(sin(solution(m, y, solve))); };
  };
  const auto both = grad<0, 1>(loss(until_small))(a, b), steps = grad<0, 1>(loss(iterate))(a, b);
  CHECK(difference({to_value(std::get<0>(both)), to_value(std::get<1>(both))},
                   {to_value(std::get<0>(steps)), to_value(std::get<1>(steps))}, 1e-5) == "");
  const auto second = [&](const auto& solve) {
    return grad([=](const array& m) { return sum(square(grad(loss(solve))(m, b))); })(a);
  };
  CHECK(difference({to_value(second(until_small))}, {to_value(second(iterate))}, 1e-4) == "");
  const array many = noise({4, 3}, 5);
  const auto each = [&](const auto& solve) {
    return vmap([=](const array& y) { return grad(loss(solve))(a, y); })(many);
  };
  CHECK(difference({to_value(each(until_small))}, {to_value(each(iterate))}, 1e-5) == "");
}

TEST_CASE("trees are solved for, and the transposed product is the transpose") {
  using two = std::pair<array, array>;
  const array s = array(0.25f);
  const auto product = [&](const two& v) { return two{2.0f * v.first + s * v.second, 4.0f * v.second}; };
  const auto solve = [](const auto& f, const two& b) {  // from the columns of the matrix
    const array one = ones({});
    const two first = f(two{one, 0.0f * one}), second = f(two{0.0f * one, one});
    const array det = first.first * second.second - second.first * first.second;
    return two{(second.second * b.first - second.first * b.second) / det,
               (first.first * b.second - first.second * b.first) / det};
  };
  const auto x = custom_linear_solve(product, two{ones({}), ones({})}, solve, solve);
  CHECK(x.first.item() == Approx(0.46875f));
  CHECK(x.second.item() == Approx(0.25f));
  const auto first = [&](const array& b) { return custom_linear_solve(product, two{b, 3.0f * b}, solve, solve).first; };
  CHECK(grad(first)(ones({})).item() == Approx(0.5f - 3 * 0.03125f));
}

TEST_CASE("custom_linear_solve of numbers that kernels easily get wrong") {
  const auto doubled = [](const array& x) { return x + x; };
  const auto halved = [](const auto&, const array& y) { return y * array(0.5, {y.dtype(), false, {}}); };
  for (const dtype t : {f32, bf16})
    check_adversarial([&](const arrays& x) -> arrays { return custom_linear_solve(doubled, x[0], halved); },
                      {adversarial({9, 37}, 3, t)});
}

TEST_CASE("custom_linear_solve: errors") {
  const array a = noise({3, 3}, 1), b = noise({3}, 2);
  CHECK_THAT(error_of([&] { grad([&](const array& y) { return sum(symmetric(a, y, false)); })(b); }),
             contains("custom_linear_solve: reverse mode: found no transpose_solve, expected one, or .symmetric"));
  CHECK(error_of([&] { jvp([&](const array& y) { return symmetric(a, y, false); }, b, b); }) == "none");
  const auto identity = [](const array& x) { return x; };
  const auto shorter = [](const auto&, const array& y) { return y[0]; };
  const auto same = [](const auto&, const array& y) { return y; };
  CHECK_THAT(error_of([&] { custom_linear_solve(identity, b, shorter); }),
             contains("custom_linear_solve: solution: found f32[], expected f32[3]"));
  CHECK_THAT(error_of([&] { custom_linear_solve([](const array& x) { return x[0]; }, b, same); }),
             contains("custom_linear_solve: product"));
  CHECK_THAT(error_of([&] { custom_linear_solve(identity, b, same, shorter); }),
             contains("custom_linear_solve: transposed solution"));
}
