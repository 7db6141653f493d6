// tests/linalg/matrices.hpp: matrices for tests of linear algebra, and how well their factors give them back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/matrices.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

namespace tokamax::test {

/// a a^T + n I: symmetric and positive definite.
inline array positive_definite(const shape& s, unsigned seed, dtype t = f32) {
  const array a = noise(s, seed, t);
  return matmul(a, linalg::detail::transposed(a)) + eye(s[s.rank() - 1], t) * static_cast<double>(s[s.rank() - 1]);
}
/// Noise with a large diagonal, so that it is far from singular.
inline array regular(const shape& s, unsigned seed, dtype t = f32) {
  return noise(s, seed, t) + eye(s[s.rank() - 1], t) * 3.0;
}
/// The same with NaN, infinities, zeros and denormal numbers in some of the rows.
inline array hostile(const shape& s, unsigned seed, dtype t = f32) {
  return sprinkled(s, seed, t, 100) + eye(s[s.rank() - 1], t) * 3.0;
}
/// Rectangles of the same kind, whose diagonal is large as well.
inline array hostile_rectangles(const shape& s, unsigned seed, dtype t = f32) {
  const array wide = eye(std::max(s[s.rank() - 2], s[s.rank() - 1]), t) * 3.0;
  const array diagonal = slice(wide, {0, 0}, {s[s.rank() - 2], s[s.rank() - 1]});
  return sprinkled(s, seed, t, 100) + diagonal;
}
/// Matrices [4, 3, 3] of ranks 0, 1, 2 and 3 whose elimination is exact.
inline array of_every_rank(dtype t = f32) {
  return astype(array::from<float>({0, 0, 0, 0, -0.0f, 0, 0, 0, 0,   //
                                    1, 2, 4, 2, 4,     8, 4, 8, 16,  //
                                    1, 2, 0, 2, 1,     0, 0, 0, 0,   //
                                    2, 0, 0, 0, 0,     1, 0, 4, 0},
                                   {4, 3, 3}),
                t);
}
/// Bounds of errors, relative to elements or to the size of the matrices.
inline adversarial_options near_in(dtype t) { return {.tolerance = t == f64 ? 1e-11 : 4e-5, .floor = 30}; }
/// The largest difference of two arrays, as a number.
inline double apart(const array& a, const array& b) {
  const values x = {to_value(a), to_value(b)};
  if (x[0].data.size() != x[1].data.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < x[0].data.size(); ++i) {
    const double d = std::fabs(x[0].data[i] - x[1].data[i]);
    most = d <= most ? most : d;  // NaN counts
  }
  return most;
}
/// How far the columns of q are from orthonormal.
inline double skew(const array& q) {
  const std::int64_t k = q.extent(q.rank() - 1);
  const array product = matmul(linalg::detail::transposed(q), q);
  return apart(product, broadcast_to(eye(k, q.dtype()), product.shape()));
}

}  // namespace tokamax::test
