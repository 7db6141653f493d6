// tokamax/linalg/expm.hpp: the exponential of a matrix.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>            // bitwise_and
#include <tokamax/lax/stop_gradient.hpp>                  // stop_gradient
#include <tokamax/linalg/solve.hpp>                       // solve
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

namespace tokamax::linalg {

namespace detail {
/// The diagonal Padé approximant of e^a with numerator and denominator of degree 7 (f32) or 13 (f64). Even powers make v and
/// odd ones u; the result is (v - u)^-1 (v + u). Coefficients: Higham 2005, table 2.3 and eq. 2.1.
constexpr array pade(const array& a, source_line l) {
  const array one = identity_like(a), a2 = times(a, a), a4 = times(a2, a2), a6 = times(a4, a2);
  array u, v;
  if (a.dtype() == f64) {
    const array high_u = times(a6, a6 + 16380.0 * a4 + 40840800.0 * a2);
    u = times(
        a, high_u + 33522128640.0 * a6 + 10559470521600.0 * a4 + 1187353796428800.0 * a2 + 32382376266240000.0 * one);
    const array high_v = times(a6, 182.0 * a6 + 960960.0 * a4 + 1323241920.0 * a2);
    v = high_v + 670442572800.0 * a6 + 129060195264000.0 * a4 + 7771770303897600.0 * a2 + 64764752532480000.0 * one;
  } else {
    u = times(a, a6 + 1512.0 * a4 + 277200.0 * a2 + 8648640.0 * one);
    v = 56.0 * a6 + 25200.0 * a4 + 1995840.0 * a2 + 17297280.0 * one;
  }
  return solve(v - u, v + u, l);
}
}  // namespace detail

/// The sum of a^k / k!. The matrix is halved until a Padé approximant has the precision of the dtype, and the result is
/// squared as often, at most `max_squarings` times: where that is too few, the result is NaN.
///
/// shapes  a [..., n, n] -> [..., n, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "expm: matrix"
/// source  jax.scipy.linalg.expm; Higham 2005, The Scaling and Squaring Method for the Matrix Exponential Revisited
constexpr array expm(const array& a, int max_squarings = 16, source_line l = source_line::current()) {
  if (!detail::is_matrix("expm: matrix", a, true, l)) return a;
  const array x = detail::in_precision(a);
  if (x.size() == 0) return x;
  const double most = x.dtype() == f64 ? 5.371920351148152 : 3.925724783138660;  // norms for which no halving is needed
  const array norm = max(reduce_sum(abs(stop_gradient(x)), {x.rank() - 2}), {.axis = {-1}});
  const array wanted = ceil(log(norm / most) * 1.4426950408889634);
  const array enough = wanted <= static_cast<double>(max_squarings);
  const array halvings = astype(where(enough, maximum(wanted, array(0.0)), zeros_like(wanted)), i32);
  array scale = ones_like(wanted);
  for (int bit = 0; bit < 5; ++bit) {  // 2^-halvings, exactly
    const array set = bitwise_and(halvings, array(1 << bit)) != array(0);
    scale = scale * where(set, full_like(wanted, bit == 4 ? 0x1p-16 : 1.0 / (1 << (1 << bit))), ones_like(wanted));
  }
  const auto each = [&](const array& number) { return expand_dims(expand_dims(number, -1), -1); };
  const array first = detail::pade(x * each(scale), l);
  const array squared = fori_loop(
      0, max_squarings < 31 ? max_squarings : 31,
      [&](const array& i, const array& r) {
        const array on = each(i < halvings);
        const array base =
            where(on, r, zeros_like(r));  // what is not wanted must not overflow: its derivative counts as NaN
        return where(on, detail::times(base, base), r);
      },
      first, l);
  return where(each(enough), squared, full_like(squared, 0) / 0.0);
}

}  // namespace tokamax::linalg
