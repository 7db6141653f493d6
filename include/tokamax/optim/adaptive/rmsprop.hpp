// tokamax/optim/adaptive/rmsprop.hpp: rmsprop and adagrad, which divide by the root of squares seen so far.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/descent/sgd.hpp>         // optional_trace
#include <tokamax/optim/transforms/moments.hpp>  // moved_squares
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate

namespace tokamax::optim {

template <class Params>
struct squares_state {
  Params squares = for_averages(Params{});
};
template <class Params>
struct rms_state {
  Params squares = for_averages(Params{});
  Params mean = nothing_like(Params{});  ///< of gradients, if these are centered
  array count = zeros({}, i32);          ///< updates so far
};

namespace detail {
template <class Params>
constexpr Params squares_from(const Params& params, double value) {
  return map_floating([&](const array& p) { return full(p.shape(), value, p.dtype()); }, for_averages(params));
}
/// g / sqrt(n + eps), in the dtype of g.
constexpr array over_root(const array& g, const array& n, const array& eps) {
  return astype(astype(g, n.dtype()) * rsqrt(n + eps), g.dtype());
}
}  // namespace detail

/// n = decay n + (1 - decay) g^2, u = g / sqrt(n + eps).
///
/// Without `eps_in_sqrt` it is g / (sqrt(n) + eps). With `bias_correction` n / (1 - decay^t) takes the place of n. With
/// `centered` the variance n - m^2 does, where m is the average of g.
///
/// dtypes  n of leaves of 16 bits is f32; u has the dtype of g
/// source  optax.scale_by_rms, and with `centered` scale_by_stddev; Hinton 2012; Graves 2013, arXiv:1308.0850
struct scale_by_rms {
  array decay = 0.9, eps = 1e-8;
  double initial = 0;
  bool eps_in_sqrt = true, bias_correction = false, centered = false;

  template <class Params>
  constexpr rms_state<Params> init(const Params& params) const {
    Params mean = nothing_like(params);
    if (centered) mean = for_averages(zeros_like(params));
    return {detail::squares_from(params, initial), mean, zeros({}, i32)};
  }
  template <class Params>
  constexpr std::pair<Params, rms_state<Params>> update(const Params& g, const rms_state<Params>& s,
                                                        const Params&) const {
    const array count = incremented(s.count), of_n = detail::share(decay, astype(count, f32));
    const Params n = detail::moved_squares(decay, s.squares, g);
    Params mean = s.mean;
    if (centered) mean = detail::moved(decay, s.mean, g);
    auto step = [&](const array& x, const array& a, const array& m) {
      array spread = a;
      if (bias_correction) spread = detail::corrected(a, of_n);
      if (centered) {
        array center = m;
        if (bias_correction) center = detail::corrected(m, of_n);
        spread = spread - center * center;
      }
      if (eps_in_sqrt) return detail::over_root(x, spread, eps);
      return astype(1.0 / (sqrt(spread) + eps) * astype(x, spread.dtype()), x.dtype());
    };
    return {map_floating(step, g, n, mean), {n, mean, count}};
  }
};
/// g over its standard deviation.
/// source  optax.scale_by_stddev
constexpr scale_by_rms scale_by_stddev(const array& decay = 0.9, const array& eps = 1e-8, double initial = 0,
                                       bool eps_in_sqrt = true, bool bias_correction = false) {
  return {decay, eps, initial, eps_in_sqrt, bias_correction, true};
}

/// n = n + g^2, u = g / sqrt(n + eps), and u = 0 where n is 0.
/// dtypes  as scale_by_rms
/// source  optax.scale_by_rss; Duchi et al. 2011
struct scale_by_rss {
  double initial = 0.1;
  array eps = 1e-7;

  template <class Params>
  constexpr squares_state<Params> init(const Params& params) const {
    return {detail::squares_from(params, initial)};
  }
  template <class Params>
  constexpr std::pair<Params, squares_state<Params>> update(const Params& g, const squares_state<Params>& s,
                                                            const Params&) const {
    auto add = [](const array& m, const array& x) {
      const array wide = astype(x, m.dtype());
      return wide * wide + m;
    };
    auto step = [this](const array& x, const array& m) { return select(m > 0, detail::over_root(x, m, eps), 0.0f); };
    const Params n = map_floating(add, s.squares, g);
    return {map_floating(step, g, n), {n}};
  }
};

template <class Schedule = schedule>
struct rmsprop_options {
  Schedule learning_rate;
  array decay = 0.9, eps = 1e-8;
  double initial = 0;
  bool eps_in_sqrt = true, centered = false;
  array momentum = 0.0;  ///< 0: none
  bool nesterov = false, bias_correction = false;
};
/// source  optax.rmsprop
template <class Options = rmsprop_options<>>
constexpr auto rmsprop(const Options& o) {
  return chain(scale_by_rms{o.decay, o.eps, o.initial, o.eps_in_sqrt, o.bias_correction, o.centered},
               scale_by_learning_rate{o.learning_rate}, optional_trace{{o.momentum, o.nesterov}});
}

template <class Schedule = schedule>
struct adagrad_options {
  Schedule learning_rate;
  double initial = 0.1;
  array eps = 1e-7;
};
/// source  optax.adagrad
template <class Options = adagrad_options<>>
constexpr auto adagrad(const Options& o) {
  return chain(scale_by_rss{o.initial, o.eps}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
