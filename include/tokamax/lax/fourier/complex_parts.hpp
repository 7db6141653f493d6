// tokamax/lax/fourier/complex_parts.hpp: an array of complex numbers as two arrays: the library has no complex dtype.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (functions with complex operands or results include it)
// tested by tests/lax/fourier/complex_parts.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>        // select
#include <tokamax/lax/elementwise/trigonometric.hpp>  // atan2
#include <tokamax/lax/elementwise/unary.hpp>          // sqrt
#include <tokamax/lax/iota.hpp>                       // zeros_like

namespace tokamax {

/// The real and imaginary parts, of one shape and dtype: two f32 are JAX's complex64, two f64 its complex128. It is a tree of
/// two leaves, so transformations take it. The gradient of a real function of complex numbers is the pair of its derivatives
/// by the parts, dL/dre and dL/dim, the direction in which L grows; that of JAX is its conjugate, dL/dre - i dL/dim.
struct complex_parts {
  array re, im;

  constexpr tokamax::dtype dtype() const { return re.dtype(); }  ///< of the parts
  constexpr const tokamax::shape& shape() const { return re.shape(); }
  constexpr std::int64_t extent(int axis) const { return re.extent(axis); }
  constexpr int rank() const { return re.rank(); }
  constexpr std::int64_t size() const { return re.size(); }
  /// Parts by the indices that arrays take.
  template <class List = index_list>
  constexpr complex_parts operator[](const List& at) const {
    return {re[at], im[at]};
  }
  template <class... Index>
  constexpr complex_parts operator()(const Index&... at) const {
    return {re(at...), im(at...)};
  }
};

/// The complex numbers re + i im.
///
/// shapes  those of re and im, broadcast
/// dtypes  floats; parts of two dtypes are promoted
/// errors  "complex: parts" if they are not floats
/// source  jax.lax.complex
constexpr complex_parts complex(const array& re, const array& im, source_line l = source_line::current()) {
  if (!is_floating(re.dtype()) || !is_floating(im.dtype())) {
    const array both[] = {re, im};
    reject(both, 2, l, "complex: parts", message(re.type()) << ", " << im.type(), "floats");
    return {re, im};
  }
  const dtype type = promote({re.dtype(), re.type().weak}, {im.dtype(), im.type().weak}).type;
  bool fits = true;
  const shape s = broadcast_shapes(re.shape(), im.shape(), fits);
  if (!fits) {
    const array both[] = {re, im};
    reject(both, 2, l, "complex: parts", message(re.type()) << ", " << im.type(), "shapes that broadcast");
    return {re, im};
  }
  return {broadcast_to(astype(re, type, l), s, l), broadcast_to(astype(im, type, l), s, l)};
}
/// source  jax.lax.real, jax.numpy.real
constexpr array real(const complex_parts& a) { return a.re; }
/// source  jax.lax.imag, jax.numpy.imag
constexpr array imag(const complex_parts& a) { return a.im; }

constexpr complex_parts operator+(const complex_parts& a, const complex_parts& b) { return {a.re + b.re, a.im + b.im}; }
constexpr complex_parts operator-(const complex_parts& a, const complex_parts& b) { return {a.re - b.re, a.im - b.im}; }
constexpr complex_parts operator*(const complex_parts& a, const complex_parts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
constexpr complex_parts operator-(const complex_parts& a) { return {-a.re, -a.im}; }
// Real operands act on the parts, so that infinite ones make no NaN of a zero part. JAX makes them complex first.
constexpr complex_parts operator+(const complex_parts& a, const array& b) {
  return complex(a.re + b, a.im + zeros_like(b));
}
constexpr complex_parts operator+(const array& a, const complex_parts& b) { return b + a; }
constexpr complex_parts operator-(const complex_parts& a, const array& b) { return a + -b; }
constexpr complex_parts operator-(const array& a, const complex_parts& b) { return -b + a; }
constexpr complex_parts operator*(const complex_parts& a, const array& b) { return {a.re * b, a.im * b}; }
constexpr complex_parts operator*(const array& a, const complex_parts& b) { return b * a; }
constexpr complex_parts operator/(const complex_parts& a, const array& b) { return {a.re / b, a.im / b}; }
/// Are the numbers equal, in both parts?
/// source  jax.numpy.equal, not_equal of complex numbers
constexpr array operator==(const complex_parts& a, const complex_parts& b) {
  return logical_and(a.re == b.re, a.im == b.im);
}
constexpr array operator!=(const complex_parts& a, const complex_parts& b) { return logical_not(a == b); }
constexpr array operator==(const complex_parts& a, const array& b) {
  return logical_and(a.re == b, a.im == zeros_like(a.im));
}
constexpr array operator!=(const complex_parts& a, const array& b) { return logical_not(a == b); }
constexpr array operator==(const array& a, const complex_parts& b) { return b == a; }
constexpr array operator!=(const array& a, const complex_parts& b) { return logical_not(b == a); }
/// re - i im
constexpr complex_parts conj(const complex_parts& a) { return {a.re, -a.im}; }

/// The length of each number, without squares that overflow or vanish.
///
///   m sqrt(1 + (n / m)^2) with m = max(|re|, |im|) and n = min(|re|, |im|)
///
/// source  jax.numpy.abs of complex numbers
constexpr array abs(const complex_parts& a) {
  const array x = abs(a.re), y = abs(a.im), large = maximum(x, y), small = minimum(x, y);
  const array even = large == small;  // both zero or both infinite too
  const array ratio = select(even, 1.0f, small / select(even, 1.0f, large));
  return large * sqrt(ratio * ratio + 1.0);
}
/// The angle of each number to the positive real axis, from -pi to pi.
/// source  jax.numpy.angle
constexpr array angle(const complex_parts& a) { return atan2(a.im, a.re); }

/// a / b, as a conj(b) / |b|^2 of numbers that are scaled by the larger part of b, so that the square neither overflows nor
/// vanishes. Division by zero gives NaN or infinities.
constexpr complex_parts operator/(const complex_parts& a, const complex_parts& b) {
  const array size = maximum(abs(b.re), abs(b.im));
  const complex_parts scaled{b.re / size, b.im / size};
  const array squared = (scaled.re * scaled.re + scaled.im * scaled.im) * size;
  const complex_parts y = a * conj(scaled);
  return {y.re / squared, y.im / squared};
}
constexpr complex_parts operator/(const array& a, const complex_parts& b) {
  return complex_parts{a, zeros_like(a)} / b;
}

}  // namespace tokamax
