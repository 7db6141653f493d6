// tokamax/lax/bitwise.hpp: and, or, xor, not, shifts and bit counts of integers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/arithmetic.hpp>  // +, *: bit counts

namespace tokamax {

namespace detail {
constexpr array_type unsigned_infer(const call& c) {
  const array_type t = same_type_infer(c);
  return t.type == u32 ? t : c.fail(text(c.self->name) << ": dtype", c[0].type(), "u32");
}
constexpr array_type signed_infer(const call& c) {
  const array_type t = same_type_infer(c);
  return t.type == i32 ? t : c.fail(text(c.self->name) << ": dtype", c[0].type(), "i32");
}
template <class F, int Arity>
consteval op bitwise(std::string_view name, std::string_view stablehlo, bool commutative, kernel_set (*kernels)(),
                     array_type (*infer)(const call&) = nullptr) {
  return elementwise<F, Arity, std::int64_t>({.name = name,
                                              .stablehlo = stablehlo,
                                              .dtypes = accepts::integers,
                                              .algebra = {.commutative = commutative},
                                              .infer = infer,
                                              .vjp = no_gradient,
                                              .kernels = kernels});
}
}  // namespace detail

struct bitwise_and_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a & b;
  }
};
struct bitwise_or_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a | b;
  }
};
struct bitwise_xor_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a ^ b;
  }
};
struct bitwise_not_fn {
  template <class V>
  static constexpr V apply(V a) {
    return ~a;
  }
};

// An amount outside of [0, 32) moves every bit out.
struct shift_left_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & V(31);
    return select(low == s, a << low, V(0));
  }
};
struct shift_right_logical_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & V(31);
    return select(low == s, a >> low, V(0));
  }
};
struct shift_right_arithmetic_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & V(31);
    return a >> select(low == s, low, V(31));
  }
};

inline constexpr op bitwise_and_p =
    detail::bitwise<bitwise_and_fn, 2>("bitwise_and", "stablehlo.and", true, kernels_of<bitwise_and_p>);
inline constexpr op bitwise_or_p =
    detail::bitwise<bitwise_or_fn, 2>("bitwise_or", "stablehlo.or", true, kernels_of<bitwise_or_p>);
inline constexpr op bitwise_xor_p =
    detail::bitwise<bitwise_xor_fn, 2>("bitwise_xor", "stablehlo.xor", true, kernels_of<bitwise_xor_p>);
inline constexpr op bitwise_not_p =
    detail::bitwise<bitwise_not_fn, 1>("bitwise_not", "stablehlo.not", false, kernels_of<bitwise_not_p>);
inline constexpr op shift_left_p =
    detail::bitwise<shift_left_fn, 2>("shift_left", "stablehlo.shift_left", false, kernels_of<shift_left_p>);
inline constexpr op shift_right_logical_p =
    detail::bitwise<shift_right_logical_fn, 2>("shift_right_logical", "stablehlo.shift_right_logical", false,
                                               kernels_of<shift_right_logical_p>, detail::unsigned_infer);
inline constexpr op shift_right_arithmetic_p =
    detail::bitwise<shift_right_arithmetic_fn, 2>("shift_right_arithmetic", "stablehlo.shift_right_arithmetic", false,
                                                  kernels_of<shift_right_arithmetic_p>, detail::signed_infer);
template <>
struct element_of<bitwise_and_p> : bitwise_and_fn {};
template <>
struct element_of<bitwise_or_p> : bitwise_or_fn {};
template <>
struct element_of<bitwise_xor_p> : bitwise_xor_fn {};
template <>
struct element_of<bitwise_not_p> : bitwise_not_fn {};
template <>
struct element_of<shift_left_p> : shift_left_fn {};
template <>
struct element_of<shift_right_logical_p> : shift_right_logical_fn {};
template <>
struct element_of<shift_right_arithmetic_p> : shift_right_arithmetic_fn {};

namespace detail {
/// Bits of truth values are the truth values.
constexpr array bits_or_logic(const op& bits, const op& logic, const array& a, const array& b, location l) {
  return binary(a.dtype() == bool_ && b.dtype() == bool_ ? logic : bits, a, b, l);
}
/// The bits of an integer in a u32, with zeros above them.
constexpr array bits_in_word(const array& a, source_line l) {
  const array word = convert_element_type(a, u32, false, l);
  if (size_of(a.dtype()) == 4) return word;
  return binary(bitwise_and_p, word, array(255.0, {u32, false, {}}), l);
}
}  // namespace detail

/// Bit by bit, with broadcasting and promotion; truth values combine as logic.
///
/// dtypes  integers, bool
/// errors  "bitwise_and: dtype" (and so on) for floating operands
/// source  jax.numpy.bitwise_and and its family
constexpr array bitwise_and(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(bitwise_and_p, logical_and_p, a, b, l);
}
constexpr array bitwise_or(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(bitwise_or_p, logical_or_p, a, b, l);
}
constexpr array bitwise_xor(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(bitwise_xor_p, ne_p, a, b, l);
}
constexpr array bitwise_not(const array& a, source_line l = source_line::current()) {
  return detail::unary(a.dtype() == bool_ ? logical_not_p : bitwise_not_p, a, l);
}

/// `a` with its bits moved by `amount`; what leaves is lost. To the right, zeros come in (logical) or copies of the sign
/// (arithmetic). An amount outside of [0, number of bits) moves all bits out.
///
/// dtypes  integers
/// source  jax.lax.shift_left, shift_right_logical, shift_right_arithmetic
constexpr array shift_left(const array& a, const array& amount, source_line l = source_line::current()) {
  const dtype word = size_of(a.dtype()) < 4 ? i32 : a.dtype();  // the amount may be one that a's dtype has not
  const array moved =
      detail::binary(shift_left_p, convert_element_type(a, word), convert_element_type(amount, word), l);
  return convert_element_type(moved, a.dtype(), false, l);
}
constexpr array shift_right_logical(const array& a, const array& amount, source_line l = source_line::current()) {
  return convert_element_type(
      detail::binary(shift_right_logical_p, detail::bits_in_word(a, l), convert_element_type(amount, u32), l),
      a.dtype());
}
constexpr array shift_right_arithmetic(const array& a, const array& amount, source_line l = source_line::current()) {
  return convert_element_type(
      detail::binary(shift_right_arithmetic_p, convert_element_type(a, i32), convert_element_type(amount, i32), l),
      a.dtype());
}

/// Number of ones among the bits, and number of zeros above the highest one.
/// source  jax.lax.population_count, jax.lax.clz
constexpr array population_count(const array& a, source_line l = source_line::current()) {
  auto word = [](std::uint32_t v) { return array(static_cast<double>(v), {u32, false, {}}); };
  auto shifted = [&](const array& x, int by) { return shift_right_logical(x, by, l); };
  array x = detail::bits_in_word(a, l);
  x = x - bitwise_and(shifted(x, 1), word(0x55555555), l);  // counts of pairs, of fours, of bytes
  x = bitwise_and(x, word(0x33333333), l) + bitwise_and(shifted(x, 2), word(0x33333333), l);
  x = bitwise_and(x + shifted(x, 4), word(0x0f0f0f0f), l);
  return convert_element_type(shifted(x * word(0x01010101), 24), a.dtype());
}
constexpr array clz(const array& a, source_line l = source_line::current()) {
  array x = detail::bits_in_word(a, l);
  for (int by = 1; by < 32; by *= 2) x = bitwise_or(x, shift_right_logical(x, by, l), l);
  const array above(32.0 - 8 * size_of(a.dtype()), {u32, false, {}});  // zeros that are no bits of a
  return convert_element_type(population_count(bitwise_not(x, l), l) - above, a.dtype());
}

}  // namespace tokamax
