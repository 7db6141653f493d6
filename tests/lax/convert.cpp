// tests/lax/convert.cpp: conversions of values and of bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/convert.hpp>

#include "support/check_op.hpp"

#include <limits>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("conversions keep the contract") {
  const array floats = noise({2, 5}, 1) * 9, integers = array::from<std::int32_t>({-5, 0, 7, 300}),
              truth = array::from<bool>({true, false, true}), small = array::from<std::int8_t>({-128, 0, 127});
  for (const dtype to : {f32, bf16, i8, i32, bool_}) {
    const words w = pack(convert_options{to, false});
    check_op(convert_element_type_p,
             {{{floats}, w}, {{astype(floats, bf16)}, w}, {{integers}, w}, {{truth}, w}, {{small}, w}});
  }
  check_op(convert_element_type_p,
           {{{array::from<std::uint32_t>({0u, 7u, 4000000000u})}, pack(convert_options{f32, false})}});
}

TEST_CASE("conversions of NaN, infinities and numbers that do not fit are those of JAX") {
  check_golden("convert_f32_i32", [](const arrays& x) -> arrays { return astype(x[0], i32); });
  for (const char* row : {"convert_f32_i8", "convert_i32_i8", "convert_u32_i8"})
    check_golden(row, [](const arrays& x) -> arrays { return astype(x[0], i8); });
  check_golden("convert_i8_u32", [](const arrays& x) -> arrays { return astype(x[0], u32); });
  check_golden("convert_f32_u32", [](const arrays& x) -> arrays { return astype(x[0], u32); });
  check_golden("convert_f32_bool", [](const arrays& x) -> arrays { return astype(x[0], bool_); });
  check_golden("convert_i32_f32", [](const arrays& x) -> arrays { return astype(x[0], f32); });
}

TEST_CASE("literals are converted as data is") {
  constexpr auto value = [](const array& x, dtype t) { return astype(x, t).literal(); };
  static_assert(value(300, i8) == 44 && value(-129, i8) == 127 && value(true, i8) == 1);
  static_assert(value(300.5, i8) == 127 && value(-300.0, i8) == -128 && value(-2.7, i8) == -2);
  static_assert(value(3e10, i32) == 2147483647.0 && value(-1.0, u32) == 0 && value(0.5, bool_) == 1);
  static_assert(value(std::numeric_limits<float>::quiet_NaN(), i8) == 0);
}

TEST_CASE("rounding to bf16 goes to the nearest even") {
  const array x = array::from<float>({1.00390625f, 1.01171875f, 3.4e38f});  // 1 + 1/256, 1 + 3/256
  const array y = astype(astype(x, bf16), f32);
  CHECK(y.values<float>()[0] == 1.0f);
  CHECK(y.values<float>()[1] == 1.015625f);
  CHECK(std::isinf(y.values<float>()[2]));
}

TEST_CASE("bits are read as another dtype of the same width") {
  check_op(bitcast_convert_type_p,
           {{{noise({4}, 1)}, pack(bitcast_options{i32})},
            {{noise({4}, 1)}, pack(bitcast_options{u32})},
            {{array::from<std::uint32_t>({0x3f800000u, 0x40000000u})}, pack(bitcast_options{f32})}},
           {.differentiate = false});
  CHECK_THROWS_WITH(bitcast_convert_type(noise({2}, 1), bf16), contains("bitcast_convert_type: width"));
  CHECK_THROWS_WITH(bitcast_convert_type(zeros({2}, i8), bool_),
                    contains("bitcast_convert_type: truth values: found i8[2], expected bool"));
}
