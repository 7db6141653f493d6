// tokamax/numpy/elementwise/predicates.hpp: questions about numbers: NaN, infinite, close, equal.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>  // all

#include <limits>  // infinity

namespace tokamax {

namespace detail {
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A number of the dtype of x, for every element.
constexpr array number_like(const array& x, double v) { return array(v, {x.dtype(), false, {}}); }
/// The same truth value for every element.
constexpr array truth_like(const array& x, bool v) { return array(v, {bool_, false, x.shape()}); }
/// Two operands of one dtype and shape, floating unless `any_dtype`.
struct operand_pair {
  array a, b;
  constexpr operand_pair(const op& o, const array& left, const array& right, source_line l, bool any_dtype = false) {
    array x[2] = {left, right};
    if (any_dtype)
      unify(o, x, l);
    else
      unify_in_floats(o, x, l);
    a = x[0];
    b = x[1];
  }
};
}  // namespace detail

/// Is x NaN, infinite, +infinity or -infinity? Integers and truth values never are.
///
/// shapes  any -> the same
/// dtypes  any -> bool
/// source  jax.numpy.isnan, isinf, isposinf, isneginf
constexpr array isnan(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return detail::truth_like(x, false);
  return not_equal(x, x, l);
}
constexpr array isposinf(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return detail::truth_like(x, false);
  return equal(x, detail::infinity, l);
}
constexpr array isneginf(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return detail::truth_like(x, false);
  return equal(x, -detail::infinity, l);
}
constexpr array isinf(const array& x, source_line l = source_line::current()) {
  return logical_or(isposinf(x, l), isneginf(x, l), l);
}

/// Every array is real, as there are no complex dtypes.
/// source  jax.numpy.isreal, iscomplex
constexpr array isreal(const array& x) { return detail::truth_like(x, true); }
constexpr array iscomplex(const array& x) { return detail::truth_like(x, false); }

/// Is the sign bit set? It is for -0 and for a NaN with that bit; of integers, for negative ones.
///
/// shapes  any -> the same
/// dtypes  numbers -> bool
/// source  jax.numpy.signbit
constexpr array signbit(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) {
    if (!is_signed(x.dtype())) return detail::truth_like(x, false);
    return x < located(0, l);
  }
  const array bits = bitcast_convert_type(x, narrowest(dtype_kind::signed_integer, bits_of(x.dtype())), l);
  return bits < located(detail::number_like(bits, 0), l);
}

/// When two numbers are close.
struct isclose_options {
  double rtol = 1e-5;      ///< times |b|
  double atol = 1e-8;      ///< added to that
  bool equal_nan = false;  ///< NaN is close to NaN
};

/// |a - b| <= atol + rtol |b|; infinities are close to themselves only.
///
/// shapes  a, b broadcast together
/// dtypes  any -> bool
/// source  jax.numpy.isclose
constexpr array isclose(const array& x, const array& y, isclose_options o = {},
                        source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<sub_p>(), x, y, l);
  const array bound = detail::number_like(b, o.atol) + detail::number_like(b, o.rtol) * abs(b);
  const array near = select(logical_or(isinf(a), isinf(b)), a == b, abs(a - b) <= bound);
  if (!o.equal_nan) return near;
  return logical_or(near, logical_and(isnan(a), isnan(b)));
}
/// Are all elements close? A scalar.
/// source  jax.numpy.allclose
constexpr array allclose(const array& a, const array& b, isclose_options o = {},
                         source_line l = source_line::current()) {
  return all(isclose(a, b, o, l));
}

/// Have two arrays the same shape and elements? With `equal_nan`, NaN equals NaN. A scalar.
/// source  jax.numpy.array_equal
constexpr array array_equal(const array& a, const array& b, bool equal_nan = false,
                            source_line l = source_line::current()) {
  if (!(a.shape() == b.shape())) return array(false, {bool_, false, {}});
  const array same = equal(a, b, l);
  if (!equal_nan) return all(same);
  return all(logical_or(same, logical_and(isnan(a), isnan(b))));
}
/// The same of arrays that may be broadcast to one shape.
/// source  jax.numpy.array_equiv
constexpr array array_equiv(const array& a, const array& b, source_line l = source_line::current()) {
  bool ok = true;
  broadcast_shapes(a.shape(), b.shape(), ok);
  if (!ok) return array(false, {bool_, false, {}});
  return all(equal(a, b, l));
}

}  // namespace tokamax
