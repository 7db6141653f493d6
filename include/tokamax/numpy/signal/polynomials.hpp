// tokamax/numpy/signal/polynomials.hpp: polynomials by their coefficients, highest power first: polyval, polymul, polydiv.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (signals need it)
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>         // arrays_of
#include <tokamax/numpy/signal/calculus.hpp>  // convolve

namespace tokamax {

namespace detail {
/// Both with as many coefficients as the longer one, zeros first.
constexpr arrays same_length(const array& a, const array& b, source_line l) {
  arrays out{atleast_1d(a, l), atleast_1d(b, l)};
  const std::int64_t n = out[0].extent(0) > out[1].extent(0) ? out[0].extent(0) : out[1].extent(0);
  for (array& p : out) p = pad(p, 0, {n - p.extent(0)}, {0}, {}, l);
  return out;
}
}  // namespace detail

/// The value at x: ((p[0] x + p[1]) x + ...) x + p[n - 1].
///
/// shapes  p [n], x [...] -> [...]
/// source  jax.numpy.polyval
constexpr array polyval(const array& p, const array& x, source_line l = source_line::current()) {
  const promoted type = promote({p.dtype(), p.type().weak}, {x.dtype(), x.type().weak});
  array y = zeros(x.shape(), type.type);
  if (!is_known("polyval", p, l)) return y;
  for (std::int64_t k = 0; k < p.extent(0); ++k) y = y * located(x, l) + reshape(slice_in_dim(p, k, k + 1, 0), {});
  return y;
}
/// Sum, difference and product.
/// source  jax.numpy.polyadd, polysub, polymul
constexpr array polyadd(const array& a, const array& b, source_line l = source_line::current()) {
  const arrays p = detail::same_length(a, b, l);
  return p[0] + located(p[1], l);
}
constexpr array polysub(const array& a, const array& b, source_line l = source_line::current()) {
  const arrays p = detail::same_length(a, b, l);
  return p[0] - located(p[1], l);
}
constexpr array polymul(const array& a, const array& b, source_line l = source_line::current()) {
  return convolve(atleast_1d(a, l), atleast_1d(b, l), convolve_mode::full, l);
}
/// {quotient, remainder} of polynomial division; the remainder has as many coefficients as u.
/// source  jax.numpy.polydiv
constexpr arrays_of<2> polydiv(const array& u, const array& v, source_line l = source_line::current()) {
  array rest = detail::in_floats(atleast_1d(u, l));
  const array divisor = astype(detail::in_floats(atleast_1d(v, l)), rest.dtype());
  const std::int64_t m = rest.extent(0), n = divisor.extent(0);
  if (m < n) return {zeros({1}, rest.dtype()), rest};
  arrays quotients;
  for (std::int64_t k = 0; k <= m - n; ++k) {
    const array q = slice_in_dim(rest, k, k + 1, 0) / slice_in_dim(divisor, 0, 1, 0);
    quotients.push_back(q);
    rest = rest - pad(divisor * q, 0, {k}, {m - n - k});
  }
  return {concatenate(quotients, 0), rest};
}
/// The m-th derivative, and the m-th integral with all constants 0.
///
/// dtypes  floats; integers become f32
/// errors  "polyder: order", "polyint: order" if negative
/// source  jax.numpy.polyder, polyint
constexpr array polyder(const array& p, int m = 1, source_line l = source_line::current()) {
  if (m < 0) reject(p, l, "polyder: order", message() << m, "0 or more");
  if (!is_known("polyder", p, l)) return p;
  array y = detail::in_floats(p);
  for (int k = 0; k < m; ++k) {
    const std::int64_t n = y.extent(0);
    if (n <= 1) return zeros({0}, y.dtype());
    const array powers = array(n - 1, {i32, false, {}}) - iota(i32, {n - 1}, 0);
    y = slice_in_dim(y, 0, n - 1, 0) * astype(powers, y.dtype());
  }
  return y;
}
constexpr array polyint(const array& p, int m = 1, source_line l = source_line::current()) {
  if (m < 0) reject(p, l, "polyint: order", message() << m, "0 or more");
  if (!is_known("polyint", p, l)) return p;
  array y = detail::in_floats(p);
  for (int k = 0; k < m; ++k) {
    const std::int64_t n = y.extent(0);
    const array powers = array(n, {i32, false, {}}) - iota(i32, {n}, 0);
    y = pad(y / astype(powers, y.dtype()), 0, {0}, {1});
  }
  return y;
}
/// The coefficients of the polynomial with the roots x [n], and a first one of 1: [n + 1].
/// source  jax.numpy.poly of a list of roots
constexpr array poly(const array& x, source_line l = source_line::current()) {
  if (!is_known("poly", x, l)) return x;
  const array roots = detail::in_floats(atleast_1d(x, l));
  array y = ones({1}, roots.dtype());
  for (std::int64_t k = 0; k < roots.extent(0); ++k)
    y = pad(y, 0, {0}, {1}) - pad(y * slice_in_dim(roots, k, k + 1, 0), 0, {1}, {0});
  return y;
}

}  // namespace tokamax
