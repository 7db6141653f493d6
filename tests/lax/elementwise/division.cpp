// tests/lax/elementwise/division.cpp: quotients and remainders with the signs of JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/division.hpp>
#include <tokamax/numpy/floor_divide.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("integer and floating division agree with JAX") {
  for (const char* name : {"div_i32", "div_i32_edge", "div_i8"})
    check_golden(name, [](const arrays& x) -> arrays { return quotient(x[0], x[1]); }, 2);
  for (const char* name : {"rem_i32", "rem_f32", "rem_i32_edge", "rem_i8"})
    check_golden(name, [](const arrays& x) -> arrays { return rem(x[0], x[1]); }, 2);
  for (const char* name : {"mod_i32", "mod_f32"})
    check_golden(name, [](const arrays& x) -> arrays { return remainder(x[0], x[1]); }, 2);
  for (const char* name : {"floor_divide_i32", "floor_divide_f32", "floor_divide_i8"})
    check_golden(name, [](const arrays& x) -> arrays { return floor_divide(x[0], x[1]); }, 2);
  check_golden("clamp", [](const arrays& x) -> arrays { return clamp(x[0], x[1], x[2]); }, 3);
}

TEST_CASE("rem keeps the contract") {
  const array b = array::from<float>({0.3f, -0.4f, 2.0f});
  check_op(rem_p, {{{noise({3}, 1), b}}});
}

TEST_CASE("a quotient of floats is rejected") {
  CHECK_THROWS_WITH(quotient(zeros({2}), zeros({2})),
                    contains("quotient: dtype: found f32[2], expected an integer dtype"));
}

TEST_CASE("a remainder of 0 has the sign of the divisor, and a quotient of 0 that of a / b") {
  const array a = array::from<float>({-1, 1, -0.0f, 0, 6, -6}), b = array::from<float>({1, -1, 3, -3, 3, -3});
  const auto minus = [](const array& x) { return to_values(arrays{astype(1.0f / x < 0.0f, i32)}); };
  for (const dtype t : {f32, bf16, f16, f64}) {
    const array r = remainder(astype(a, t), astype(b, t)), q = floor_divide(astype(a, t), astype(b, t));
    CHECK(difference(to_values(arrays{astype(abs(r), f32)}), to_values(arrays{zeros({6})}), 0) == "");
    CHECK(difference(minus(r), minus(b), 0) == "");
    CHECK(difference(minus(q), to_values(arrays{array::from<std::int32_t>({1, 1, 1, 1, 0, 0})}), 0) == "");
  }
  CHECK(remainder(array(-7), array(7)).item<int>() == 0);
}
