// tokamax/lax/elementwise/logaddexp.hpp: sums of numbers given by their logarithms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // logistic

namespace tokamax {

struct logaddexp_fn {
  template <class V>
  static constexpr V apply(V x, V y) {
    using namespace scalar_math;
    const V apart = x - y;  // NaN for equal infinities, whose sum is the result
    return select(apart == apart, select(x > y, x, y) + log1p(exp(-abs(apart))), x + y);
  }
};
inline constexpr op logaddexp_p = elementwise<logaddexp_fn, 2>({
    .name = "logaddexp",
    .stablehlo = "tokamax.logaddexp",
    .dtypes = accepts::floating,
    .algebra = {.commutative = true},
    .cost = {.flops = 8, .transcendentals = 2},
    .vjp = [](const call& c) -> arrays {
      const array apart = c[0] - c[1], infinite = logical_and(apart != apart, c[0] == c[1]);  // both, with one sign
      const array share = logistic(select(infinite, array(0.0, apart.type()), apart));        // of x in the sum
      return {c.ct() * share, c.needs(1) ? c.ct() * (1.0 - share) : array()};
    },
    .kernels = kernels_of<logaddexp_p>,
});
template <>
struct element_of<logaddexp_p> : logaddexp_fn {};

/// log(e^x + e^y), without overflow.
///
///   max(x, y) + log1p(e^-|x - y|)
///
/// shapes  x, y broadcast together
/// dtypes  their promotion; integers become f32 first
/// errors  "logaddexp: shapes" if the shapes do not broadcast
/// source  jax.numpy.logaddexp. Equal infinities have half of the gradient each, where JAX has NaN
constexpr array logaddexp(const array& x, const array& y, source_line l = source_line::current()) {
  array v[2] = {x, y};
  detail::unify_in_floats(described<logaddexp_p>(), v, l);
  return bind(described<logaddexp_p>(), {v[0], v[1]}, words{}, l);
}

}  // namespace tokamax
