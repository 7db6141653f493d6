// tokamax/ops/activations.hpp: the nonlinearities between layers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>              // linked
#include <tokamax/lax/elementwise/special.hpp>  // normal_cdf
#include <tokamax/lax/elementwise/unary.hpp>    // tanh, logistic, ...
#include <tokamax/lax/iota.hpp>                 // zeros_like

namespace tokamax {

/// The activation that returns its argument, for functions that take one.
struct no_activation {
  constexpr const array& operator()(const array& x) const { return x; }
};

struct relu_fn {
  template <class V>
  static constexpr V apply(V x) {  // NaN passes
    using namespace scalar_math;
    return select(x <= V(0), V(0), x);
  }
};
inline constexpr op relu_p = elementwise<relu_fn, 1>({
    .name = "relu",
    .stablehlo = "tokamax.relu",
    .dtypes = accepts::numbers,
    .algebra = {.fold_integers = fold<relu_fn, 1, std::int64_t>},
    .compose = [](const call& c) -> arrays { return select(c[0] <= 0, zeros_like(c[0]), c[0]); },

    // The result says where x is positive, so that a program need not keep both.
    .vjp = [](const call& c) -> arrays { return select(c.out() > 0, c.ct(), zeros_like(c.ct())); },
    .kernels = kernels_of<relu_p>,
});
template <>
struct element_of<relu_p> : relu_fn {};

// Activations of integers convert them to f32 first; relu and relu6 stay in the dtype of x.

/// max(x, 0), with a gradient of 0 at 0 (that of `maximum` is one half).
/// source  jax.nn.relu
constexpr array relu(const array& x, source_line l = source_line::current()) {
  return detail::unary(described<relu_p>(), x, l);
}

/// x * sigmoid(x), also called swish.
/// source  jax.nn.silu
constexpr array silu(const array& x, source_line l = source_line::current()) {
  return detail::in_floats(x) * logistic(x, l);
}

/// 1 / (1 + exp(-x)).
/// source  jax.nn.sigmoid
constexpr array sigmoid(const array& x, source_line l = source_line::current()) { return logistic(x, l); }

/// How gelu is asked to behave.
struct gelu_options {
  bool approximate = true;  ///< by tanh; otherwise with the error function
};

struct gelu_fn {
  template <class V>
  static V apply(V x) {
    return x * normal_cdf_fn::apply(x);
  }
};
/// The exact gelu: one op, so that neither 1 + erf cancels nor bf16 is rounded in between.
inline constexpr op gelu_p = detail::float_function<gelu_fn>({
    .name = "gelu",
    .stablehlo = "tokamax.gelu",
    .cost = {.flops = 3, .transcendentals = 1},
    .vjp = [](const call& c) -> arrays {
      const array x = detail::carried(c[0]), density = exp(x * x * -0.5) * 0.3989422804014327;
      return astype(detail::carried(c.ct()) * (normal_cdf(x) + x * density), c[0].dtype());
    },
    .kernels = kernels_of<gelu_p>,
});
template <>
struct element_of<gelu_p> : gelu_fn {};

namespace detail {
constexpr array gelu_here(const array& given, gelu_options o, source_line l) {
  if (!o.approximate) return float_unary(described<gelu_p>(), given, l);
  const array x = in_floats(given);
  return x * (0.5 * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)), l)));
}
}  // namespace detail

/// x times the probability that a standard normal variable is below x.
///
///   approximate  x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
///   exact        x / 2 * erfc(-x / sqrt(2)), which is x / 2 * (1 + erf(x / sqrt(2))) without cancellation
///
/// dtypes  any float; integers become f32 first
/// source  Hendrycks, Gimpel 2016, arXiv:1606.08415; jax.nn.gelu
constexpr array gelu(const array& x, gelu_options o = {}, source_line l = source_line::current()) {
  return linked<detail::gelu_here>(x, o, l);
}

/// log(1 + exp(x)), stable for large |x|.
/// source  jax.nn.softplus
constexpr array softplus(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  const array minus_abs = select(x > 0, -x, x, l);  // with relu's derivative of 0 at 0, the sum's is 1/2 there
  return relu(x, l) + log1p(exp(minus_abs, l), l);
}

/// log(sigmoid(x)), stable for large |x|.
/// source  jax.nn.log_sigmoid
constexpr array log_sigmoid(const array& x, source_line l = source_line::current()) {
  return -softplus(-detail::in_floats(x), l);
}

/// x where it is not negative, slope * x elsewhere.
/// source  jax.nn.leaky_relu
constexpr array leaky_relu(const array& given, double slope = 0.01, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return select(x >= 0, x, x * slope, l);
}

/// x where it is positive, alpha * (exp(x) - 1) elsewhere; the unused branch is kept from overflowing.
/// source  jax.nn.elu
constexpr array elu(const array& given, double alpha = 1.0, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return select(x > 0, x, alpha * expm1(select(x > 0, zeros_like(x), x, l), l), l);
}

/// elu with alpha and scale such that activations keep mean 0 and variance 1.
/// source  Klambauer et al. 2017, arXiv:1706.02515; jax.nn.selu
constexpr array selu(const array& x, source_line l = source_line::current()) {
  return 1.0507009873554805 * elu(x, 1.6732632423543772, l);
}

/// min(max(x, 0), 6), with a gradient of 0 at both ends.
/// source  jax.nn.relu6
constexpr array relu6(const array& x, source_line l = source_line::current()) {
  return select(x >= 6, full_like(x, 6), relu(x, l), l);
}

}  // namespace tokamax
