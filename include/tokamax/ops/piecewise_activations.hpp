// tokamax/ops/piecewise_activations.hpp: activations of few operations: hard_tanh, hard_sigmoid, celu, mish, glu, squareplus.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/split.hpp>  // split
#include <tokamax/ops/activations.hpp>   // relu6, silu, softplus
#include <tokamax/ops/softmax.hpp>       // logsumexp

namespace tokamax {

/// x itself: an activation of layers that have none.
/// source  jax.nn.identity
template <std::same_as<array> Array>  // because numpy's identity takes a number
constexpr Array identity(const Array& x, source_line = source_line::current()) {
  return x;
}
/// x held between -1 and 1.
/// source  jax.nn.hard_tanh
constexpr array hard_tanh(const array& x, source_line l = source_line::current()) {
  return select(x > located(1, l), ones_like(x), select(x < -1, full_like(x, -1), x, l), l);
}
/// relu6(x + 3) / 6, which is near the sigmoid; x times that, which is near silu.
/// source  jax.nn.hard_sigmoid, hard_silu, hard_swish
constexpr array hard_sigmoid(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return relu6(x + located(3.0, l), l) / 6.0;
}
constexpr array hard_silu(const array& x, source_line l = source_line::current()) {
  return x * located(hard_sigmoid(x, l), l);
}
constexpr array hard_swish(const array& x, source_line l = source_line::current()) { return hard_silu(x, l); }
/// Another name of silu.
/// source  jax.nn.swish
constexpr array swish(const array& x, source_line l = source_line::current()) { return silu(x, l); }

/// max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1).
/// source  Barron 2017, arXiv:1704.07483; jax.nn.celu
constexpr array celu(const array& given, double alpha = 1, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return maximum(x, 0.0, l) + alpha * expm1(minimum(x, 0.0, l) / alpha, l);
}
/// x tanh(softplus(x)).
/// source  Misra 2019, arXiv:1908.08681; jax.nn.mish
constexpr array mish(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return x * tanh(softplus(x, l), l);
}
/// x / (|x| + 1).
/// source  jax.nn.soft_sign
constexpr array soft_sign(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return x / (abs(x, l) + 1.0);
}
/// (x + sqrt(x^2 + b)) / 2, a smooth relu.
/// source  Barron 2021, arXiv:2112.11687; jax.nn.squareplus
constexpr array squareplus(const array& given, double b = 4, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return (x + sqrt(square(x, l) + b, l)) / 2.0;
}
/// 0 up to -1, (x + 1)^2 / 4 up to 1, then x; and its derivative, min(max(x + 1, 0), 2) / 2.
/// source  jax.nn.sparse_plus, sparse_sigmoid
constexpr array sparse_plus(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given), middle = square(x + 1.0, l) / 4.0;
  return select(x <= -1.0, zeros_like(x), select(x >= 1.0, x, middle, l), l);
}
constexpr array sparse_sigmoid(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return 0.5 * minimum(maximum(x + 1.0, 0.0, l), 2.0, l);
}

/// The first half along `axis` times the sigmoid of the second.
///
/// shapes  extent n of the axis -> n / 2
/// errors  "split: axis", "split: extent" if n is odd
/// source  Dauphin et al. 2016, arXiv:1612.08083; jax.nn.glu
constexpr array glu(const array& x, int axis = -1, source_line l = source_line::current()) {
  const arrays halves = split(x, 2, axis, l);
  if (halves.count() < 2) return x;
  return halves[0] * located(sigmoid(halves[1], l), l);
}

/// log(mean(exp(x))) over some axes.
/// dtypes  as logsumexp
/// source  jax.nn.logmeanexp
template <class = void>
constexpr array logmeanexp(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    return logsumexp(v, o, l) -
           log(array(static_cast<double>(detail::reduced_count(v, o.axis)), {v.dtype(), false, {}}));
  });
}
constexpr array logmeanexp(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return logmeanexp(x, {.axis = axis}, l);
}
/// log(1 - exp(-x)) for positive x, by the form that is exact on each side of log 2.
/// source  Maechler 2012, "Accurately Computing log(1 - exp(-|a|))", eq. 7; jax.nn.log1mexp
constexpr array log1mexp(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given), small = x < located(0.69314718055994531, l);
  const array near = select(small, x, ones_like(x)), far = select(small, ones_like(x), x);
  return select(small, log(-expm1(-near)), log1p(-exp(-far)));
}

}  // namespace tokamax
