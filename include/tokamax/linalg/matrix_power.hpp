// tokamax/linalg/matrix_power.hpp: powers of matrices with an integer exponent.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/linalg/solve.hpp>  // inv

namespace tokamax::linalg {

/// a multiplied by itself n times; of a negative n, the inverse of a.
///
/// shapes  a [..., k, k] -> [..., k, k]
/// dtypes  f32 or f64; integers become f32
/// errors  "matrix_power: matrix"
/// source  jax.numpy.linalg.matrix_power
constexpr array matrix_power(const array& a, std::int64_t n, source_line l = source_line::current()) {
  if (!detail::is_matrix("matrix_power: matrix", a, true, l)) return a;
  array square = detail::in_precision(a), result;
  if (n < 0) square = inv(square, l);
  // Squaring gives the powers whose exponents are 1, 2, 4 and so on; those of the bits of n are multiplied.
  for (std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); left > 0;
       left /= 2) {
    if (left % 2) {
      if (result.exists())
        result = matmul(result, square, {}, l);
      else
        result = square;
    }
    if (left > 1) square = matmul(square, square, {}, l);
  }
  if (result.exists()) return result;
  return broadcast_to(detail::identity_like(square), square.shape(), l);
}

}  // namespace tokamax::linalg
