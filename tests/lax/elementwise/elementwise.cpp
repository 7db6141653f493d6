// tests/lax/elementwise/elementwise.cpp: broadcasting of shapes and promotion of operands.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/arithmetic.hpp>
#include <tokamax/lax/elementwise/elementwise.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr bool broadcasts(const shape& a, const shape& b, const shape& expected) {
  bool ok = true;
  const shape s = broadcast_shapes(a, b, ok);
  return ok && s == expected;
}
constexpr bool clashes(const shape& a, const shape& b) {
  bool ok = true;
  broadcast_shapes(a, b, ok);
  return !ok;
}
static_assert(broadcasts({}, {}, {}));
static_assert(broadcasts({3}, {2, 1}, {2, 3}));
static_assert(broadcasts({1, 5}, {4, 1}, {4, 5}));
static_assert(broadcasts({0}, {1}, {0}));
static_assert(broadcasts({dyn(), 3}, {3}, {dyn(), 3}));
static_assert(clashes({2}, {3}));
static_assert(clashes({0}, {2}));
static_assert(clashes({dyn(0)}, {dyn(1)}));

constexpr array of(dtype t, const shape& s = {2}) { return array(array_type{t, false, s}); }
// a literal takes the dtype of what it meets within its kind
static_assert((of(bf16) * 2.5f).type() == of(bf16).type());
static_assert((of(bf16) * 2).type() == of(bf16).type());
static_assert((of(i32) * 2).type() == of(i32).type());
static_assert((of(i32) * 2.5f).type() == of(f32).type());
static_assert((of(bool_) + 1).type() == of(i32).type());
static_assert((of(bf16) + of(f32)).type() == of(f32).type());
static_assert((of(i32) + of(u32)).type() == of(i32).type());
static_assert((2.5f * of(bf16)).type() == of(bf16).type());
}  // namespace

TEST_CASE("an operand is converted before it is broadcast, and sums its cotangents after") {
  const function f = [](const arrays& x) -> arrays { return x[0] * x[1]; };
  check_function(f, {noise({3}, 1, bf16), noise({2, 3}, 2)}, {.tolerance = 1e-5});
  check_function(f, {array::from<std::int32_t>({2, -3, 4}), noise({2, 3}, 2)});
}

TEST_CASE("operands beyond SIMD lanes, loop tails and chunks of threads") {
  for (const std::int64_t n : {1, 7, 8, 9, 31, 33, 100003})
    check_values([](const arrays& x) -> arrays { return (x[0] + x[1]) * x[0] - 0.5f; }, {noise({n}, 1), noise({n}, 2)},
                 3e-6, n < 100);
}
