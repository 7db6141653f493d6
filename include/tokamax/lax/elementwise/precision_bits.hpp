// tokamax/lax/elementwise/precision_bits.hpp: the bits of floating numbers: nextafter, spacing and reduce_precision.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs look at bits)
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // bitwise_and

#include <limits>  // infinity

namespace tokamax {

namespace detail {
/// How the bits of a floating dtype are divided.
struct split_of_bits {
  int exponent = 0, mantissa = 0;
  constexpr explicit split_of_bits(dtype t) {
    exponent = t == f64 ? 11 : t == f16 || t == f8e5m2 ? 5 : t == f8e4m3fn ? 4 : 8;
    mantissa = bits_of(t) - 1 - exponent;
  }
};
constexpr dtype bits_dtype(dtype t) { return narrowest(dtype_kind::unsigned_integer, bits_of(t)); }
constexpr array bits_like(const array& bits, std::uint64_t v) {
  return array(element_bits{bits_of(bits.dtype()) == 64 ? v : v & ((std::uint64_t{1} << bits_of(bits.dtype())) - 1)},
               {bits.dtype(), false, {}});
}
}  // namespace detail

/// The number next to x in the direction of y: y where they are equal, NaN where one of them is.
///
/// shapes  broadcast together
/// dtypes  f16, bf16, f32, f64
/// errors  "nextafter: shapes", "nextafter: dtype"
/// source  jax.lax.nextafter, which has no derivative either: the result does not depend on tangents
constexpr array nextafter(const array& x, const array& y, source_line l = source_line::current()) {
  array v[2] = {x, y};
  detail::unify_in_floats(described<sub_p>(), v, l);
  const dtype type = v[0].dtype(), word = detail::bits_dtype(type);
  if (bits_of(type) < 16) {
    reject(v[0], l, "nextafter: dtype", v[0].type(), "f16, bf16, f32 or f64");
    return v[0];
  }
  const array bits = bitcast_convert_type(v[0], word, l);
  const array sign_bit = detail::bits_like(bits, std::uint64_t{1} << (bits_of(type) - 1)),
              one = detail::bits_like(bits, 1);
  // Away from zero the bits grow by one, whatever the sign.
  const array grows = (v[0] < v[1]) == (v[0] > 0.0);
  const array moved = select(grows, bits + one, bits - one);
  const array least = bitwise_or(bitwise_and(bitcast_convert_type(v[1], word, l), sign_bit), one);
  const array next = select(v[0] == 0.0, least, moved);
  const array value = select(v[0] == v[1], v[1], bitcast_convert_type(next, type, l));
  return select(logical_or(v[0] != v[0], v[1] != v[1]), v[0] + v[1], value);
}

/// The distance to the next number away from zero, with the sign of x; of f16, to the next larger number. That of the largest
/// number is infinite, and that of infinity NaN.
///
/// dtypes  f16, bf16, f32, f64; integers become f32
/// errors  "nextafter: dtype"
/// source  jax.numpy.spacing
constexpr array spacing(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  const array up(std::numeric_limits<double>::infinity(), x.type());
  if (x.dtype() == f16) return nextafter(x, up, l) - x;
  const array minus = logical_or(x < 0.0, 1.0 / x < 0.0);  // that of -0 too
  return nextafter(x, select(minus, -up, up), l) - x;
}

/// Attributes of reduce_precision.
struct reduce_precision_options {
  int exponent_bits = 8, mantissa_bits = 23;
};

/// The cotangent is rounded in the same way.
inline constexpr op reduce_precision_p{
    .name = "reduce_precision",
    .stablehlo = "stablehlo.reduce_precision",
    .attributes = schema<reduce_precision_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<reduce_precision_options>();
      if (!is_floating(c[0].dtype()) || bits_of(c[0].dtype()) < 16)
        return c.fail("reduce_precision: dtype", c[0].type(), "f16, bf16, f32 or f64");
      if (o.exponent_bits < 1 || o.mantissa_bits < 0)
        return c.fail("reduce_precision: bits", message() << o.exponent_bits << " and " << o.mantissa_bits,
                      "1 or more for the exponent, 0 or more for the mantissa");
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<reduce_precision_options>();
      const dtype type = c[0].dtype();
      const detail::split_of_bits has(type);
      const array given = bitcast_convert_type(c[0], detail::bits_dtype(type));
      const auto word = [&](std::uint64_t v) { return detail::bits_like(given, v); };
      array bits = given;
      if (o.mantissa_bits < has.mantissa) {  // half of the last bit that stays, less one if that bit is even
        const int cut = has.mantissa - o.mantissa_bits;
        const std::uint64_t last = std::uint64_t{1} << cut;
        const array odd = bitwise_and(shift_right_logical(bits, cut), word(1));
        bits = bitwise_and(bits + word((last >> 1) - 1) + odd, word(~(last - 1)));
      }
      if (o.exponent_bits < has.exponent) {
        const std::uint64_t bias = (std::uint64_t{1} << (has.exponent - 1)) - 1;
        const std::uint64_t most = (std::uint64_t{1} << (o.exponent_bits - 1)) - 1;
        const std::uint64_t field = ((std::uint64_t{1} << has.exponent) - 1) << has.mantissa;
        const array exponent = bitwise_and(bits, word(field));
        const array sign = bitwise_and(bits, word(std::uint64_t{1} << (bits_of(type) - 1)));
        const array large = exponent > word((bias + most) << has.mantissa);
        const array small =
            exponent <= word((bias - most) << has.mantissa);  // denormal numbers of the target are zeros
        bits = select(large, bitwise_or(sign, word(field)), select(small, sign, bits));
      }
      return select(c[0] == c[0], bitcast_convert_type(bits, type), c[0]);
    },
    .vjp = [](const call& c) -> arrays {
      return bind(*c.self, {c.ct()}, c.attrs<reduce_precision_options>(), c.where);
    },
    .jvp = [](const call& c) -> arrays {
      return bind(*c.self, {c.tangents[0]}, c.attrs<reduce_precision_options>(), c.where);
    },
    .batch = [](const call& c) -> arrays {
      return bind(*c.self, {c[0]}, c.attrs<reduce_precision_options>(), c.where);
    },
};

/// x rounded as a format with these bits has it, half to even; too large numbers are infinite, and those that the format has
/// as denormal ones are zeros of their sign.
///
/// dtypes  f16, bf16, f32, f64 -> the same
/// errors  "reduce_precision: dtype", "reduce_precision: bits"
/// source  jax.lax.reduce_precision
constexpr array reduce_precision(const array& x, int exponent_bits, int mantissa_bits,
                                 source_line l = source_line::current()) {
  return bind(described<reduce_precision_p>(), {x}, reduce_precision_options{exponent_bits, mantissa_bits}, l);
}

}  // namespace tokamax
