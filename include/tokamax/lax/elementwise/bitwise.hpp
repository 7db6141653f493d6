// tokamax/lax/elementwise/bitwise.hpp: and, or, xor, not, shifts and bit counts of integers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // +, *: bit counts

namespace tokamax {

namespace detail {
constexpr array_type unsigned_infer(const call& c) {
  const array_type t = same_type_infer(c);
  return is_unsigned(t.dtype) && bits_of(t.dtype) >= 32
             ? t
             : c.fail(message(c.self->name) << ": dtype", c[0].type(), "u32 or u64");
}
constexpr array_type signed_infer(const call& c) {
  const array_type t = same_type_infer(c);
  return is_signed(t.dtype) && bits_of(t.dtype) >= 32
             ? t
             : c.fail(message(c.self->name) << ": dtype", c[0].type(), "i32 or i64");
}
template <class F, int Arity>
constexpr op bitwise(std::string_view name, std::string_view stablehlo, bool commutative, kernel_set (*kernels)(),
                     array_type (*infer)(const call&) = nullptr) {
  return elementwise<F, Arity, std::int64_t>({
      .name = name,
      .stablehlo = stablehlo,
      .dtypes = accepts::integers,
      .algebra = {.commutative = commutative},
      .infer = infer,
      .vjp = no_gradient,
      .kernels = kernels,
  });
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

// An amount outside of [0, bits) moves every bit out.
template <class V>
constexpr V last_shift(V) {
  using T = typename V::value_type;
  return V(static_cast<T>(8 * sizeof(T) - 1));
}
inline spelled last_shift(spelled a) { return spelled::call("last_shift", {a}); }
struct shift_left_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & last_shift(s);
    return select(low == s, a << low, V(0));
  }
};
struct shift_right_logical_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & last_shift(s);
    return select(low == s, a >> low, V(0));
  }
};
struct shift_right_arithmetic_fn {
  template <class V>
  static constexpr V apply(V a, V s) {
    using namespace scalar_math;
    const V low = s & last_shift(s);
    return a >> select(low == s, low, last_shift(s));
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
constexpr dtype unsigned_word(dtype t) { return bits_of(t) == 64 ? u64 : u32; }
/// The bits of an integer in a u32 or u64, with zeros above them.
constexpr array bits_in_word(const array& a, source_line l) {
  const dtype type = unsigned_word(a.dtype());
  const array word = convert_element_type(a, type, false, l);
  if (bits_of(a.dtype()) == bits_of(type) || is_unsigned(a.dtype())) return word;
  return binary(described<bitwise_and_p>(), word, array((1 << bits_of(a.dtype())) - 1, {type, false, {}}), l);
}
/// Refuses floats and truth values, whose bits would otherwise be those of the integers that they are converted to.
constexpr bool are_integers(const char* what, const array& a, const array& b, source_line l) {
  for (const array* x : {&a, &b})
    if (!is_integer(x->dtype())) {
      reject(*x, l, what, x->type(), "an integer dtype");
      return false;
    }
  return true;
}
}  // namespace detail

/// Bit by bit, with broadcasting and promotion; truth values combine as logic.
///
/// dtypes  integers, bool
/// errors  "bitwise_and: dtype" (and so on) for floating operands
/// source  jax.numpy.bitwise_and and its family
constexpr array bitwise_and(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(described<bitwise_and_p>(), described<logical_and_p>(), a, b, l);
}
constexpr array bitwise_or(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(described<bitwise_or_p>(), described<logical_or_p>(), a, b, l);
}
constexpr array bitwise_xor(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::bits_or_logic(described<bitwise_xor_p>(), described<ne_p>(), a, b, l);
}
constexpr array bitwise_not(const array& a, source_line l = source_line::current()) {
  return detail::unary(a.dtype() == bool_ ? described<logical_not_p>() : described<bitwise_not_p>(), a, l);
}

/// The same, as C++ writes them; `!x` is true where x is 0.
constexpr array operator&(const array& a, const located& b) { return bitwise_and(a, b.value, b.where); }
constexpr array operator|(const array& a, const located& b) { return bitwise_or(a, b.value, b.where); }
constexpr array operator^(const array& a, const located& b) { return bitwise_xor(a, b.value, b.where); }
constexpr array operator~(const located& a) { return bitwise_not(a.value, a.where); }
constexpr array operator!(const located& a) { return logical_not(a.value, a.where); }
template <std::derived_from<array> A>
constexpr A& operator&=(A& a, const located& b) {
  return a = a & b;
}
template <std::derived_from<array> A>
constexpr A& operator|=(A& a, const located& b) {
  return a = a | b;
}
template <std::derived_from<array> A>
constexpr A& operator^=(A& a, const located& b) {
  return a = a ^ b;
}

/// C++ decides whether to compute the right side of && and ||, and has no value for that while it traces.
template <class A, class B>
  requires(std::derived_from<A, array> || std::derived_from<B, array>)
constexpr array operator&&(const A&, const B&) {
  static_assert(sizeof(A) == 0, "tokamax: arrays have no &&: write a & b, with comparisons in parentheses");
  return {};
}
template <class A, class B>
  requires(std::derived_from<A, array> || std::derived_from<B, array>)
constexpr array operator||(const A&, const B&) {
  static_assert(sizeof(A) == 0, "tokamax: arrays have no ||: write a | b, with comparisons in parentheses");
  return {};
}

/// `a` with its bits moved by `amount`; bits that leave are lost. A shift to the right brings in zeros (logical) or copies
/// of the sign (arithmetic). An amount outside of [0, number of bits) moves all bits out.
///
/// dtypes  integers
/// errors  "shift_left: dtype" (and so on) for others
/// source  jax.lax.shift_left, shift_right_logical, shift_right_arithmetic
constexpr array shift_left(const array& a, const array& amount, source_line l = source_line::current()) {
  if (!detail::are_integers("shift_left: dtype", a, amount, l)) return a;
  const dtype word = size_of(a.dtype()) < 4 ? i32 : a.dtype();  // the amount may be larger than the dtype of a holds
  const array moved =
      detail::binary(described<shift_left_p>(), convert_element_type(a, word), convert_element_type(amount, word), l);
  return convert_element_type(moved, a.dtype(), false, l);
}
constexpr array shift_right_logical(const array& a, const array& amount, source_line l = source_line::current()) {
  if (!detail::are_integers("shift_right_logical: dtype", a, amount, l)) return a;
  return convert_element_type(detail::binary(described<shift_right_logical_p>(), detail::bits_in_word(a, l),
                                             convert_element_type(amount, detail::unsigned_word(a.dtype())), l),
                              a.dtype());
}
constexpr array shift_right_arithmetic(const array& a, const array& amount, source_line l = source_line::current()) {
  if (!detail::are_integers("shift_right_arithmetic: dtype", a, amount, l)) return a;
  const dtype word = bits_of(a.dtype()) == 64 ? i64 : i32;
  const array with_sign = convert_element_type(a, narrowest(dtype_kind::signed_integer, bits_of(a.dtype())));
  return convert_element_type(
      detail::binary(described<shift_right_arithmetic_p>(), convert_element_type(with_sign, word),
                     convert_element_type(amount, word), l),
      a.dtype());
}

/// Number of ones among the bits, and number of zeros above the highest one.
/// errors  "population_count: dtype", "clz: dtype" for other than integers
/// source  jax.lax.population_count, jax.lax.clz
constexpr array population_count(const array& a, source_line l = source_line::current()) {
  if (!detail::are_integers("population_count: dtype", a, a, l)) return a;
  const dtype type = detail::unsigned_word(a.dtype());
  auto word = [&](std::uint64_t v) { return array(v, {type, false, {}}); };  // the low bits, of a u32
  auto shifted = [&](const array& x, int by) { return shift_right_logical(x, by, l); };
  array x = detail::bits_in_word(a, l);
  x = x - bitwise_and(shifted(x, 1), word(0x5555555555555555), l);  // counts of pairs, of fours, of bytes
  x = bitwise_and(x, word(0x3333333333333333), l) + bitwise_and(shifted(x, 2), word(0x3333333333333333), l);
  x = bitwise_and(x + shifted(x, 4), word(0x0f0f0f0f0f0f0f0f), l);
  return convert_element_type(shifted(x * word(0x0101010101010101), bits_of(type) - 8), a.dtype());
}
constexpr array clz(const array& a, source_line l = source_line::current()) {
  if (!detail::are_integers("clz: dtype", a, a, l)) return a;
  array x = detail::bits_in_word(a, l);
  const int bits = bits_of(x.dtype());
  for (int by = 1; by < bits; by *= 2) x = bitwise_or(x, shift_right_logical(x, by, l), l);
  const array above(bits - bits_of(a.dtype()), {x.dtype(), false, {}});  // the zeros above the bits of a
  return convert_element_type(population_count(bitwise_not(x, l), l) - above, a.dtype());
}

}  // namespace tokamax
