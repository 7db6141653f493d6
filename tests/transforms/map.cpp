// tests/transforms/map.cpp: functions on each entry of a sequence.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/apply_along_axis.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/map.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using two = std::pair<array, array>;
constexpr auto f = [](const two& x) { return std::pair{sin(x.first) * sum(x.second), sum(x.first)}; };
constexpr auto each = [](const array& v) { return sum(v * v * v); };
void check_same(const two& found, const two& expected) {
  CHECK(difference(to_values(leaves(found)), to_values(leaves(expected)), 1e-6) == "");
}
}  // namespace

TEST_CASE("map is vmap one after the other, or some at a time") {
  for (const std::int64_t n : {0, 1, 5, 6}) {
    const two xs{noise({n, 3}, 1), noise({n, 2}, 2)};
    for (const std::int64_t size : {1, 2, 3, 4, 100})
      if (n > 0 || size > 1) check_same(tokamax::map(f, xs, {.batch_size = size}), vmap(f)(xs));
  }
}

TEST_CASE("map has a gradient, and is one program") {
  using rows = tensor<f32, 5, 3>;
  const rows x = noise({5, 3}, 1);
  for (const std::int64_t size : {1, 2}) {
    const auto total = [&](const array& v) { return sum(tokamax::map(each, v, {.batch_size = size})); };
    CHECK(difference({to_value(grad(total)(x))}, {to_value(3.0f * x * x)}, 1e-6) == "");
  }
  constexpr auto program = [](const rows& v) { return tokamax::map(each, array(v), {.batch_size = 2}); };
  CHECK(bit_difference({jit(program, cpu, while_compiling)(x)}, {jit(program, cpu, at_run_time)(x)}).empty());
}

TEST_CASE("wrong batch sizes are rejected") {
  CHECK_THROWS_WITH(tokamax::map([](const array& v) { return v; }, noise({3}, 1), {.batch_size = 0}),
                    contains("map: batch_size: found 0, expected 1 or more"));
}

TEST_CASE("apply_along_axis puts the result for each line in its place") {
  const array x = noise({2, 3, 4}, 1);
  for (int axis = -3; axis < 3; ++axis) {
    const auto total = [](const array& line) { return sum(line); };
    CHECK(difference({to_value(apply_along_axis(total, axis, x))}, {to_value(sum(x, {{axis}}))}, 1e-6) == "");
    const auto twice = [](const array& line) { return line * 2.0f; };
    CHECK(difference({to_value(apply_along_axis(twice, axis, x))}, {to_value(x * 2.0f)}, 0) == "");
  }
  // [2, 3, 4] along axis 1 with [3] -> [3, 3]: y[a, r, s, b] = x[a, r, b] x[a, s, b]
  const auto square = [](const array& line) { return reshape(line, {3, 1}) * line; };
  const array y = apply_along_axis(square, 1, x);
  REQUIRE(y.shape() == shape{2, 3, 3, 4});
  const value v = to_value(x), w = to_value(y);
  CHECK(w.data[1 * 36 + 2 * 12 + 1 * 4 + 3] == Approx(v.data[1 * 12 + 2 * 4 + 3] * v.data[1 * 12 + 1 * 4 + 3]));
  check_function([&](const arrays& a) -> arrays { return apply_along_axis(square, 1, a[0]); }, {x}, {.order = 1});
  CHECK_THROWS_WITH(apply_along_axis(square, 3, x), contains("apply_along_axis: axis"));
}

TEST_CASE("apply_over_axes keeps the rank, and fromfunction gets indices") {
  const array x = noise({2, 3, 4}, 1);
  const auto total = [](const array& a, int axis) { return sum(a, {{axis}}); };
  CHECK(difference({to_value(apply_over_axes(total, x, {0, -1}))}, {to_value(sum(x, {{0, 2}, true}))}, 1e-6) == "");
  CHECK_THROWS_WITH(apply_over_axes([](const array& a, int) { return sum(a); }, x, {0}),
                    contains("apply_over_axes: rank"));
  CHECK_THROWS_WITH(apply_over_axes(total, x, {3}), contains("apply_over_axes: axis"));
  const array table = fromfunction([](const array& i, const array& j) { return i * 10.0f + j; }, {2, 3});
  CHECK(difference({to_value(table)}, {to_value(reshape(array{0.0f, 1.0f, 2.0f, 10.0f, 11.0f, 12.0f}, {2, 3}))}, 0) ==
        "");
  CHECK(fromfunction([](const array& i) { return i; }, {4}, i32).dtype() == i32);
}
