// tokamax/linalg/determinant.hpp: determinants, their logarithms, and cofactors: det and slogdet.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // bitwise_and
#include <tokamax/lax/elementwise/unary.hpp>    // log
#include <tokamax/linalg/solve.hpp>             // inv
#include <tokamax/linalg/svd.hpp>               // svd

namespace tokamax::linalg {

namespace detail {
/// The product along the last axis, of pairs, then of pairs of those, and so on.
constexpr array product_of_last(array x) {
  while (x.extent(x.rank() - 1) > 1) {
    const std::int64_t n = x.extent(x.rank() - 1), half = n / 2;
    array pairs = slice_in_dim(x, 0, half, -1) * slice_in_dim(x, half, 2 * half, -1);
    if (n % 2) pairs = concatenate({pairs, slice_in_dim(x, n - 1, n, -1)}, -1);
    x = pairs;
  }
  return reduce_sum(x, {x.rank() - 1}) + (x.extent(x.rank() - 1) ? 0.0 : 1.0);
}
/// 1 where the number of exchanged rows is even, and -1 elsewhere.
constexpr array sign_of_exchanges(const packed_lu& f) {
  const array moved = astype(f.pivots != arange(f.pivots.extent(f.pivots.rank() - 1)), i32);
  const array odd = bitwise_and(reduce_sum(moved, {moved.rank() - 1}), array(1));
  return 1.0 - 2.0 * astype(odd, f.lu.dtype());
}
constexpr array_type one_number(const call& c) { return has_matrix(c, 0, true) ? batch_type(c[0], {}) : c[0].type(); }
constexpr array per_matrix(const array& x) { return expand_dims(expand_dims(x, -1), -1); }
}  // namespace detail

constexpr array det(const array& a, source_line l = source_line::current());

/// The derivative of the determinant: the matrix of cofactors, also where a is singular. It is u diag(p) vh of the singular
/// value decomposition, where p_i is the product of all singular values but s_i, times the sign of det(u vh).
inline constexpr op cofactor_p{
    .name = "cofactor",
    .infer = [](const call& c) -> array_type {
      return detail::has_matrix(c, 0, true) ? array_type{c[0].dtype(), false, c[0].shape()} : c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const auto [u, s, vh] = svd(c[0]);
      const array all = broadcast_to(expand_dims(s, -2), c[0].shape());
      const array others = where(eye(detail::rows(c[0]), bool_), ones_like(all), all);
      const array side = sign(det(detail::times(u, vh)));
      const array turned = detail::times(detail::times_diagonal(u, detail::product_of_last(others)), vh);
      return detail::per_matrix(side) * turned;
    },
    // (<ct, C> C - C ct^T C) / det(a), with the cofactors C: a second derivative, of matrices that are not singular.
    .vjp = [](const call& c) -> arrays {
      const array& m = c.out();
      const array inner = reduce_sum(c.ct() * m, {m.rank() - 2, m.rank() - 1});
      const array product = detail::times(detail::times(m, detail::transposed(c.ct())), m);
      return (detail::per_matrix(inner) * m - product) / detail::per_matrix(det(c[0]));
    },
    .batch = detail::batch_of_matrices,
};

/// The product of the diagonal of U with the sign of the exchanges of rows. The cotangent of a is that of the cofactors.
inline constexpr op det_p{
    .name = "det",
    .infer = detail::one_number,
    .compose = [](const call& c) -> arrays {
      const packed_lu f = lu_factor(c[0]);
      return detail::product_of_last(detail::diagonal_of(f.lu)) * detail::sign_of_exchanges(f);
    },
    .vjp = [](const call& c) -> arrays {
      return detail::per_matrix(c.ct()) * bind(described<cofactor_p>(), {c[0]}, words{}, c.where);
    },
    .batch = detail::batch_of_matrices,
};

/// The determinant. Its derivative is right for singular matrices, too.
///
/// shapes  a [..., n, n] -> [...]
/// dtypes  f32 or f64; integers become f32
/// errors  "det: matrix", "det: dtype"
/// source  jax.numpy.linalg.det
constexpr array det(const array& a, source_line l) {
  return bind(described<det_p>(), {detail::in_precision(a)}, words{}, l);
}

/// The sign, and the sum of the logarithms of the diagonal of U. The cotangent of a is that of the logarithm times a^-T.
inline constexpr op slogdet_p{
    .name = "slogdet",
    .infer_all = [](const call& c) -> types { return {detail::one_number(c), detail::one_number(c)}; },
    .compose = [](const call& c) -> arrays {
      const packed_lu f = lu_factor(c[0]);
      const array d = detail::diagonal_of(f.lu);
      const array side = detail::product_of_last(sign(d)) * detail::sign_of_exchanges(f);
      return {side, reduce_sum(log(abs(d)), {d.rank() - 1})};
    },
    .vjp = [](const call& c) -> arrays {
      if (!c.cotangents[1].exists()) return arrays(array());
      return detail::per_matrix(c.cotangents[1]) * detail::transposed(inv(c[0]));
    },
    .batch = detail::batch_of_matrices,
};

/// The sign of a determinant and the logarithm of its absolute value.
struct slogdet_result {
  array sign, logabsdet;
};
/// sign * exp(logabsdet) is the determinant, which itself may be too large or too small for its dtype. Of a singular matrix
/// the sign is 0, and logabsdet minus infinity.
///
/// shapes  a [..., n, n] -> [...] twice
/// dtypes  f32 or f64; integers become f32
/// errors  "slogdet: matrix", "slogdet: dtype"
/// source  jax.numpy.linalg.slogdet
constexpr slogdet_result slogdet(const array& a, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  const arrays out = bind_all(described<slogdet_p>(), &x, 1, words{}, l);
  return {out[0], out[1]};
}

}  // namespace tokamax::linalg
