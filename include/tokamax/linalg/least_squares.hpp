// tokamax/linalg/least_squares.hpp: systems without exact or unique solution: pinv, lstsq, matrix_rank.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/linalg/svd.hpp>  // svd

namespace tokamax::linalg {

/// Attributes of pinv.
struct pinv_attributes {
  double rtol = 0;  ///< singular values up to this share of the largest one count as zero
};

namespace detail {
constexpr double rounding_of(dtype t) { return t == f64 ? 0x1p-52 : 0x1p-23; }
constexpr double longer_side(const array& a) {
  return static_cast<double>(rows(a) > columns(a) ? rows(a) : columns(a));
}
/// Singular values above `rtol` times the largest one.
constexpr array significant(const array& s, double rtol) {
  if (s.extent(s.rank() - 1) == 0) return s > s;
  return s > slice_in_dim(s, 0, 1, -1) * rtol;
}
}  // namespace detail

/// v diag(1 / s) u^T of the singular values that count. Its cotangent is that of Golub and Pereyra 1973, eq. 4.12: with
/// P the result, Q = 1 - a P and R = 1 - P a, it is Q ct^T P P^T + P^T P ct^T R - P^T ct P^T.
inline constexpr op pinv_p{
    .name = "pinv",
    .attributes = schema<pinv_attributes>,
    .infer = [](const call& c) -> array_type {
      if (!detail::has_matrix(c, 0)) return c[0].type();
      return detail::batch_type(c[0], {detail::columns(c[0]), detail::rows(c[0])});
    },
    .compose = [](const call& c) -> arrays {
      const auto [u, s, vh] = svd(c[0]);
      const array counts = detail::significant(s, c.attrs<pinv_attributes>().rtol);
      const array inverse = where(counts, 1.0 / where(counts, s, ones_like(s)), zeros_like(s));
      const array nan = s + zeros_like(s) * s;  // NaN of a matrix with NaN, which no comparison shows
      return detail::times(detail::times_diagonal(detail::transposed(vh), where(nan == nan, inverse, nan)),
                           detail::transposed(u));
    },
    .vjp = [](const call& c) -> arrays {
      const array &a = c[0], &p = c.out();
      const array pt = detail::transposed(p), gt = detail::transposed(c.ct());
      const array right = detail::times(detail::times(gt, p), pt);            // g^T P P^T
      const array left = detail::times(detail::times(pt, p), gt);             // P^T P g^T
      const array first = right - detail::times(a, detail::times(p, right));  // Q g^T P P^T
      const array second = left - detail::times(detail::times(left, p), a);   // P^T P g^T R
      return first + second - detail::times(detail::times(pt, c.ct()), pt);
    },
    .batch = detail::batch_of_matrices,
};

/// The pseudo-inverse of a. A singular value up to rtol times the largest one counts as zero; rtol is 10 max(m, n) times the
/// rounding of the dtype unless it is given.
///
/// shapes  a [..., m, n] -> [..., n, m]
/// dtypes  f32 or f64; integers become f32
/// errors  "pinv: matrix", "pinv: dtype"
/// source  jax.numpy.linalg.pinv
constexpr array pinv(const array& a, double rtol = -1, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  if (rtol < 0 && x.rank() >= 2) rtol = 10 * detail::longer_side(x) * detail::rounding_of(x.dtype());
  return bind(described<pinv_p>(), {x}, pinv_attributes{rtol}, l);
}

/// The results of lstsq.
struct lstsq_result {
  array x;                ///< the shortest x with the smallest |b - a x|
  array residuals;        ///< the sum of squares of b - a x, for each column of b
  array rank;             ///< i32[]: how many singular values count
  array singular_values;  ///< of a
};
/// x that makes the sum of squares of b - a x smallest, and of those the shortest. A singular value below rcond times the
/// largest one counts as zero; rcond is max(m, n) times the rounding of the dtype unless it is given. The derivative is that
/// of the pseudo-inverse, so it is finite where singular values are equal.
///
/// shapes  a [m, n], b [m] or [m, k] -> [n] or [n, k], [] or [k], [], [min(m, n)]
/// dtypes  f32 or f64; integers become f32
/// errors  "lstsq: matrix", "lstsq: b"
/// source  jax.numpy.linalg.lstsq
constexpr lstsq_result lstsq(const array& a, const array& b, double rcond = -1,
                             source_line l = source_line::current()) {
  const array m = detail::in_precision(a, b.dtype()), y = detail::in_precision(b, a.dtype());
  if (m.rank() != 2) {
    reject(m, l, "lstsq: matrix", a.type(), "[m, n]");
    return {b, b, b, b};
  }
  if ((y.rank() != 1 && y.rank() != 2) || y.extent(0) != m.extent(0)) {
    reject(y.trace() ? y.trace() : m.trace(), l, "lstsq: b", b.type(), message("as many rows as ") << a.type());
    return {b, b, b, b};
  }
  if (rcond < 0) rcond = detail::longer_side(m) * detail::rounding_of(m.dtype());
  const array x = matmul(pinv(m, rcond, l), y, {}, l);
  const array rest = y - matmul(m, x, {}, l), s = svdvals(m, l);
  const array counts = astype(detail::significant(s, rcond), i32);
  return {x, reduce_sum(rest * rest, {0}), reduce_sum(counts, {0}), s};
}

/// How many singular values are above rtol times the largest one; rtol is max(m, n) times the rounding of the dtype unless
/// it is given.
///
/// shapes  a [..., m, n] -> i32[...]
/// errors  "svd: matrix", "svd: dtype"
/// source  jax.numpy.linalg.matrix_rank
constexpr array matrix_rank(const array& a, double rtol = -1, source_line l = source_line::current()) {
  const array s = svdvals(a, l);
  if (rtol < 0 && a.rank() >= 2) rtol = detail::longer_side(a) * detail::rounding_of(s.dtype());
  return reduce_sum(astype(detail::significant(s, rtol), i32), {s.rank() - 1});
}

}  // namespace tokamax::linalg
