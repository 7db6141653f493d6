// tests/transforms/associative_scan.cpp: prefixes of sequences, compared with loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/cumulative.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/associative_scan.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 3e-6) == "");
}
constexpr auto plus = [](const array& a, const array& b) { return a + b; };
/// h -> decay h + input, one after the other: what recurrent layers compute.
struct affine {
  array decay, input;
};
constexpr auto then = [](const affine& a, const affine& b) {
  return affine{a.decay * b.decay, b.decay * a.input + b.input};
};
}  // namespace

TEST_CASE("prefix sums of any length, axis and direction") {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 33}) {
    const array x = noise({n, 3}, 1), y = noise({2, n}, 2);
    check_close(associative_scan(plus, x), cumsum(x, 0));
    check_close(associative_scan(plus, y, {.axis = -1}), cumsum(y, 1));
    check_close(associative_scan(plus, x, {.reverse = true}), reverse(cumsum(reverse(x, {0}), 0), {0}));
  }
}

TEST_CASE("a linear recurrence is the loop, with its gradient") {
  const affine steps{noise({13, 2}, 1), noise({13, 2}, 2)};
  const auto loop = [](const affine& s) {
    return scan(
               [](const array& h, const affine& x) {
                 const array next = x.decay * h + x.input;
                 return std::pair{next, next};
               },
               zeros({2}), s)
        .second;
  };
  const auto prefix = [](const affine& s) { return associative_scan(then, s).input; };
  check_close(prefix(steps), loop(steps));
  const auto gradient = [&](const auto& f) { return grad([&](const affine& s) { return sum(f(s) * f(s)); })(steps); };
  check_close(gradient(prefix).decay, gradient(loop).decay);
  check_close(gradient(prefix).input, gradient(loop).input);
}

TEST_CASE("prefixes in programs have the same bits, and are mapped") {
  using sequence = tensor<f32, 6, 2>;
  constexpr auto f = [](const sequence& x) {
    return associative_scan([](const array& a, const array& b) { return a * b; }, array(x), {.reverse = true});
  };
  const sequence x = noise({6, 2}, 1);
  const array known = jit(f, cpu, while_compiling)(x), late = jit(f, cpu, at_run_time)(x);
  CHECK(bit_difference({known}, {late}).empty());
  CHECK(bit_difference({known}, {f(x)}).empty());
  check_close(vmap([](const array& v) { return associative_scan(plus, v); }, {.in_axes = {1}, .out_axes = {1}})(x),
              cumsum(x, 0));
}

TEST_CASE("wrong sequences are rejected") {
  CHECK_THROWS_WITH(associative_scan(then, affine{noise({3}, 1), noise({4}, 2)}),
                    contains("associative_scan: length: found f32[4], expected one known extent at axis 0"));
  CHECK_THROWS_WITH(associative_scan(plus, noise({3}, 1), {.axis = 1}), contains("associative_scan: axis: found 1"));
}
