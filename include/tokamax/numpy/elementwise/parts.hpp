// tokamax/numpy/elementwise/parts.hpp: signs, fractions and exponents of numbers, and what replaces NaN.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>                // arrays_of
#include <tokamax/lax/indexing/gather.hpp>           // integers_in_i32
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan, signbit

namespace tokamax {

namespace detail {
/// How a float of 32 or 64 bits is made: bits of the fraction, the bias of the exponent, and the integer of equal width.
struct float_layout {
  int fraction, bias;
  dtype word;
};
constexpr float_layout layout_of(dtype t) {
  return t == f64 ? float_layout{52, 1023, i64} : float_layout{23, 127, i32};
}
/// 2^k as a float, for exponents that normal numbers have.
constexpr array power_of_two(const array& k, dtype type) {
  const auto [fraction, bias, word] = layout_of(type);
  const array biased = astype(k, word) + array(bias, {word, false, {}});
  return bitcast_convert_type(shift_left(biased, array(fraction, {word, false, {}})), type);
}
}  // namespace detail

/// The magnitude of x with the sign of y.
///
/// shapes  x, y broadcast together
/// dtypes  their promotion; integers become f32
/// source  jax.numpy.copysign
constexpr array copysign(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<max_p>(), x, y, l);
  return select(signbit(a) != signbit(b), -a, a);
}

/// The integer part, toward zero. Integers stay as they are.
/// source  jax.numpy.trunc
constexpr array trunc(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return x;
  return select(x < located(0.0, l), ceil(x, l), floor(x, l));
}

/// Fraction and integer part, both with the sign of x: {x - trunc(x), trunc(x)}.
///
/// dtypes  integers become f32
/// source  jax.numpy.modf
constexpr arrays_of<2> modf(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given), integer = trunc(x, l);
  return {x - located(integer, l), integer};
}

/// {m, e} with x = m 2^e and 0.5 <= |m| < 1; zeros, infinities and NaN are their own m, with e = 0.
///
/// dtypes  integers become f32; e is i32
/// source  jax.numpy.frexp
constexpr arrays_of<2> frexp(const array& given, source_line l = source_line::current()) {
  const array real = detail::in_floats(given), x = astype(real, carrying(real.dtype()), l);
  const auto [fraction, bias, word] = detail::layout_of(x.dtype());
  const auto number = [&, w = word](std::int64_t v) { return array(v, {w, false, {}}); };
  // denormal numbers become normal ones first
  const bool wide = x.dtype() == f64;
  const array tiny = abs(x) < detail::number_like(x, wide ? 0x1p-1022 : 0x1p-126);
  const array scaled = select(tiny, x * detail::number_like(x, wide ? 0x1p54 : 0x1p25), x);
  const array bits = bitcast_convert_type(scaled, word);
  const std::int64_t mask = wide ? 0x7ff : 0xff;
  const array exponent = bitwise_and(shift_right_logical(bits, number(fraction)), number(mask));
  const array kept = bitwise_and(bits, number(~(mask << fraction)));  // sign and fraction
  const array m =
      bitcast_convert_type(bitwise_or(kept, number(static_cast<std::int64_t>(bias - 1) << fraction)), x.dtype());
  const array e = exponent - number(bias - 1) - select(tiny, number(wide ? 54 : 25), number(0));
  const array special = logical_or(x == 0.0, logical_not(isfinite(x)));
  return {astype(select(special, x, m), real.dtype()), astype(select(special, number(0), e), i32)};
}

/// x 2^n, also where 2^n alone has no float.
///
/// shapes  x, n broadcast together
/// dtypes  x floating or f32; n an integer
/// errors  "ldexp: exponent" if n is no integer
/// source  jax.numpy.ldexp
constexpr array ldexp(const array& given, const array& n, source_line l = source_line::current()) {
  if (is_floating(n.dtype())) {
    reject(n, l, "ldexp: exponent", n.type(), "an integer dtype");
    return given;
  }
  const array real = detail::in_floats(given), x = astype(real, carrying(real.dtype()), l);
  const int most = x.dtype() == f64 ? 1022 : 126;
  const auto limit = [&](int v) { return array(v, {i32, false, {}}); };
  // Four steps, each by a power that normal numbers have, reach all floats from all floats.
  array left = maximum(minimum(detail::integers_in_i32(n, l), limit(4 * most)), limit(-4 * most)), y = x;
  for (int step = 0; step < 4; ++step) {
    const array now = maximum(minimum(left, limit(most)), limit(-most));
    y = y * located(detail::power_of_two(now, x.dtype()), l);
    left = left - now;
  }
  return astype(y, real.dtype());
}

/// What stands in the place of NaN and infinities.
struct nan_to_num_options {
  double nan = 0;
  double posinf = detail::infinity;   ///< by default the largest number of the dtype
  double neginf = -detail::infinity;  ///< by default the lowest
};
/// x without NaN and infinities.
///
/// shapes  any -> the same
/// source  jax.numpy.nan_to_num
constexpr array nan_to_num(const array& x, nan_to_num_options o = {}, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return x;
  const double largest = dispatch(x.dtype(), []<dtype T>() -> double {
    if constexpr (is_floating(T))
      return static_cast<double>(static_cast<element_t<T>>(std::numeric_limits<element_t<T>>::max()));
    else
      return 0;
  });
  const auto in_place_of = [&](double given, double otherwise, double asked) {
    return detail::number_like(x, given == asked ? otherwise : given);
  };
  array y = select(isnan(x, l), detail::number_like(x, o.nan), x, l);
  y = select(isposinf(x), in_place_of(o.posinf, largest, detail::infinity), y);
  return select(isneginf(x), in_place_of(o.neginf, -largest, -detail::infinity), y);
}

}  // namespace tokamax
