// tests/lax/elementwise/bitwise.cpp: logic on bits, shifts and counts.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/bitwise.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
template <class Word>
std::vector<array> words_like() {
  return {array::from<Word>(
              {0, 1, Word(0xffffffffu), Word(0x80000000u), 12345, Word(-77), 3, 0x0f0f0f0f, 8, Word(0x7fffffff)}),
          array::from<Word>({5, 31, 32, 1, Word(-1), 4, 0, 16, 33, 30})};
}
}  // namespace

TEST_CASE("bits are combined the same way folded, fused and interpreted") {
  const array small = array::from<std::int8_t>({0, 1, -1, -128, 123, -77, 3, 15, 8, 127}),
              by = array::from<std::int8_t>({5, 7, 8, 1, -1, 4, 0, 127, 9, 6});
  for (const auto& x : {words_like<std::int32_t>(), words_like<std::uint32_t>(), std::vector<array>{small, by}}) {
    check_values(
        [](const arrays& a) -> arrays {
          return {bitwise_and(a[0], a[1]), bitwise_or(a[0], a[1]), bitwise_xor(a[0], a[1]), bitwise_not(a[0])};
        },
        x);
    check_values(
        [](const arrays& a) -> arrays {
          return {shift_left(a[0], a[1]), shift_right_logical(a[0], a[1]), shift_right_arithmetic(a[0], a[1])};
        },
        x);
    check_values([](const arrays& a) -> arrays { return {population_count(a[0]), clz(a[0])}; }, x);
  }
}

TEST_CASE("shifts and counts agree with JAX") {
  check_golden("shift_left", [](const arrays& a) -> arrays { return shift_left(a[0], a[1]); }, 2);
  check_golden("shift_right_logical", [](const arrays& a) -> arrays { return shift_right_logical(a[0], a[1]); }, 2);
  check_golden(
      "shift_right_arithmetic", [](const arrays& a) -> arrays { return shift_right_arithmetic(a[0], a[1]); }, 2);
  check_golden("population_count", [](const arrays& a) -> arrays { return population_count(a[0]); });
  check_golden("clz", [](const arrays& a) -> arrays { return clz(a[0]); });
}

TEST_CASE("i8 has 8 bits") {
  check_golden("xor_i8", [](const arrays& a) -> arrays { return bitwise_xor(a[0], a[1]); }, 2);
  check_golden("not_i8", [](const arrays& a) -> arrays { return bitwise_not(a[0]); });
  check_golden("shift_left_i8", [](const arrays& a) -> arrays { return shift_left(a[0], a[1]); }, 2);
  check_golden("shift_right_logical_i8", [](const arrays& a) -> arrays { return shift_right_logical(a[0], a[1]); }, 2);
  check_golden(
      "shift_right_arithmetic_i8", [](const arrays& a) -> arrays { return shift_right_arithmetic(a[0], a[1]); }, 2);
  check_golden("population_count_i8", [](const arrays& a) -> arrays { return population_count(a[0]); });
  check_golden("clz_i8", [](const arrays& a) -> arrays { return clz(a[0]); });
}

TEST_CASE("truth values combine as logic, floats are rejected") {
  const array t = array::from<bool>({true, false}), u = array::from<bool>({true, true});
  CHECK(bitwise_xor(t, u).values<bool>()[0] == false);
  CHECK(bitwise_not(t).values<bool>()[1] == true);
  CHECK_THROWS_WITH(bitwise_and(zeros({2}), zeros({2})),
                    contains("bitwise_and: dtype: found f32[2], expected an integer dtype"));
}

TEST_CASE("bits of floats and truth values are refused") {
  for (const dtype t : {f32, f16, bool_}) {
    const array x = zeros({2}, t), i = ones({2}, i32);
    CHECK_THROWS_WITH(clz(x), contains("clz: dtype"));
    CHECK_THROWS_WITH(population_count(x), contains("population_count: dtype"));
    CHECK_THROWS_WITH(shift_left(x, i), contains("shift_left: dtype"));
    CHECK_THROWS_WITH(shift_left(i, x), contains("shift_left: dtype"));
    CHECK_THROWS_WITH(shift_right_logical(x, i), contains("shift_right_logical: dtype"));
    CHECK_THROWS_WITH(shift_right_arithmetic(i, x), contains("shift_right_arithmetic: dtype"));
  }
}
