// tokamax/optim/rmsprop.hpp: rmsprop and adagrad, which divide by the root of squares seen so far.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/moments.hpp>  // moved_squares
#include <tokamax/optim/scale.hpp>    // scale_by_learning_rate

namespace tokamax::optim {

template <class Params>
struct squares_state {
  Params squares = for_averages(Params{});
};

namespace detail {
template <class Params>
constexpr squares_state<Params> squares_from(const Params& params, double value) {
  return {map_floating([&](const array& p) { return full(p.shape(), value, p.dtype()); }, for_averages(params))};
}
/// g / sqrt(n + eps), in the dtype of g.
constexpr array over_root(const array& g, const array& n, double eps) {
  return astype(astype(g, n.dtype()) * rsqrt(n + eps), g.dtype());
}
}  // namespace detail

/// n = decay n + (1 - decay) g^2, u = g / sqrt(n + eps).
/// dtypes  n of leaves of 16 bits is f32; u has the dtype of g
/// source  optax.scale_by_rms
struct scale_by_rms {
  double decay = 0.9, eps = 1e-8, initial = 0;

  template <class Params>
  constexpr squares_state<Params> init(const Params& params) const {
    return detail::squares_from(params, initial);
  }
  template <class Params>
  constexpr std::pair<Params, squares_state<Params>> update(const Params& g, const squares_state<Params>& s,
                                                            const Params&) const {
    const Params n = detail::moved_squares(decay, s.squares, g);
    return {map_floating([this](const array& x, const array& m) { return detail::over_root(x, m, eps); }, g, n), {n}};
  }
};

/// n = n + g^2, u = g / sqrt(n + eps), and u = 0 where n is 0.
/// dtypes  as scale_by_rms
/// source  optax.scale_by_rss; Duchi et al. 2011
struct scale_by_rss {
  double initial = 0.1, eps = 1e-7;

  template <class Params>
  constexpr squares_state<Params> init(const Params& params) const {
    return detail::squares_from(params, initial);
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
  double decay = 0.9, eps = 1e-8, initial = 0;
};
/// source  optax.rmsprop
template <class Options = rmsprop_options<>>
constexpr auto rmsprop(const Options& o) {
  return chain(scale_by_rms{o.decay, o.eps, o.initial}, scale_by_learning_rate{o.learning_rate});
}

template <class Schedule = schedule>
struct adagrad_options {
  Schedule learning_rate;
  double initial = 0.1, eps = 1e-7;
};
/// source  optax.adagrad
template <class Options = adagrad_options<>>
constexpr auto adagrad(const Options& o) {
  return chain(scale_by_rss{o.initial, o.eps}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
