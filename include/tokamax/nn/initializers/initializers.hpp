// tokamax/nn/initializers/initializers.hpp: functions (key, shape) -> array that parameters start from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/random/samplers.hpp>  // normal, uniform, truncated_normal

namespace tokamax::nn {

/// The type of a layer's field such as `kernel_init`: a function, so that it is part of the model's static structure.
using initializer = array (*)(const random::key&, const shape&);

/// A parameter that has a shape and no value yet; `init` gives it one.
/// errors  "parameter: shape" for negative extents
constexpr array parameter(const shape& s, dtype type = f32) {
  if (!are_extents(s))
    return tokamax::detail::impossible(type, "parameter: shape", message() << s, "extents from 0 on", {});
  return array(array_type{type, false, s});
}

namespace detail {
/// The first value of a parameter, in its dtype.
constexpr array first_value(initializer f, const random::key& k, const array& p) {
  return astype(f(k, p.shape()), p.dtype());
}
}  // namespace detail

namespace initializers {

constexpr array zeros(const random::key&, const shape& s) { return tokamax::zeros(s); }
constexpr array ones(const random::key&, const shape& s) { return tokamax::ones(s); }

/// One value everywhere: `constant<0.5>`.
template <double Value>
constexpr array constant(const random::key&, const shape& s) {
  return full(s, Value);
}

/// Normal with mean 0: `normal<0.02>`.
/// source  jax.nn.initializers.normal
template <double Stddev = 0.01>
constexpr array normal(const random::key& k, const shape& s) {
  return random::detail::times(random::normal(k, s), Stddev);
}

/// Normal, cut off at two standard deviations. `Stddev` is the standard deviation before the cut.
/// source  jax.nn.initializers.truncated_normal
template <double Stddev = 0.01>
constexpr array truncated_normal(const random::key& k, const shape& s) {
  return random::detail::times(random::truncated_normal(k, -2, 2, s), Stddev);
}

/// Uniform in [0, Scale).
/// source  jax.nn.initializers.uniform
template <double Scale = 0.01>
constexpr array uniform(const random::key& k, const shape& s) {
  return random::detail::times(random::uniform(k, s), Scale);
}

enum class fan { in, out, average };
enum class distribution { normal, truncated_normal, uniform };

namespace detail {
constexpr double square_root(double x) {  // Newton's method; std::sqrt is no constant expression in clang 19
  double r = x > 1 ? x : 1;
  for (int i = 0; i < 200 && r * r > x; ++i) r = 0.5 * (r + x / r);
  return r;
}
}  // namespace detail

/// Random with variance Scale / n, where n is the number of inputs, of outputs, or the mean of both.
///
/// shapes  [..., in, out]: leading axes (of a convolution's window) multiply both numbers
/// source  jax.nn.initializers.variance_scaling; He et al. 2015, arXiv:1502.01852; Glorot, Bengio 2010
template <double Scale, fan Fan, distribution Distribution>
constexpr array variance_scaling(const random::key& k, const shape& s) {
  double window = 1;
  for (int i = 0; i + 2 < s.rank(); ++i) window *= static_cast<double>(s[i]);
  const double in = window * static_cast<double>(s.rank() > 1 ? s[-2] : s[-1]),
               out = window * static_cast<double>(s[-1]);
  const double n = Fan == fan::in ? in : Fan == fan::out ? out : 0.5 * (in + out);
  const double stddev = detail::square_root(Scale / (n > 0 ? n : 1));
  if constexpr (Distribution == distribution::normal) {
    return random::detail::times(random::normal(k, s), stddev);
  } else if constexpr (Distribution == distribution::truncated_normal) {
    return random::detail::times(random::truncated_normal(k, -2, 2, s),
                                 stddev / 0.87962566103423978);  // the standard deviation that is left after the cut
  } else {
    return random::detail::times(random::uniform(k, s, f32, -1.0, 1.0), stddev * detail::square_root(3.0));
  }
}

inline constexpr initializer lecun_normal = variance_scaling<1.0, fan::in, distribution::truncated_normal>;
inline constexpr initializer lecun_uniform = variance_scaling<1.0, fan::in, distribution::uniform>;
inline constexpr initializer xavier_normal = variance_scaling<1.0, fan::average, distribution::truncated_normal>;
inline constexpr initializer xavier_uniform = variance_scaling<1.0, fan::average, distribution::uniform>;
inline constexpr initializer he_normal = variance_scaling<2.0, fan::in, distribution::truncated_normal>;
inline constexpr initializer he_uniform = variance_scaling<2.0, fan::in, distribution::uniform>;
/// The same by the other names that JAX has for them.
inline constexpr initializer glorot_normal = xavier_normal, glorot_uniform = xavier_uniform;
inline constexpr initializer kaiming_normal = he_normal, kaiming_uniform = he_uniform;
/// Rows of a table whose products have variance 1: flax.nnx.Embed's default.
inline constexpr initializer embedding_normal = variance_scaling<1.0, fan::out, distribution::normal>;

}  // namespace initializers

}  // namespace tokamax::nn
