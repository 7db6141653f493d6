// tokamax/optim/adaptive/madgrad.hpp: dual averaging with momentum and cube roots of squares.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/lax/elementwise/cube_root.hpp>  // cbrt
#include <tokamax/optim/transforms/moments.hpp>   // rest
#include <tokamax/optim/transforms/scale.hpp>     // schedule, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct madgrad_state {
  array count = zeros({}, i32);  ///< updates so far
  Params squares{}, sum{};       ///< weighted sums of squares and of gradients
  Params first{};                ///< the parameters before the first update
};

/// With l = (rate + eps) sqrt(t), G = G + l g^2 and s = s + l g:
///
///   p + u = (1 - momentum) (p0 - s / (cbrt(G) + eps)) + momentum p
///
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.contrib.scale_by_madgrad; Defazio, Jelassi 2021, arXiv:2101.11075
template <class Schedule = schedule>
struct scale_by_madgrad {
  Schedule learning_rate;
  array momentum = 0.9, eps = 1e-6;

  template <class Params>
  constexpr madgrad_state<Params> init(const Params& params) const {
    const Params none = for_averages(zeros_like(params));
    return {zeros({}, i32), none, none,
            map_floating([](const array& z, const array& p) { return astype(p, z.dtype()); }, none, params)};
  }
  template <class Params>
  constexpr std::pair<Params, madgrad_state<Params>> update(const Params& g, const madgrad_state<Params>& s,
                                                            const Params& params) const {
    const array count = incremented(s.count), weight = (learning_rate(s.count) + eps) * sqrt(astype(count, f32));
    auto add = [&](const array& a, const array& x) { return a + weight * astype(x, a.dtype()); };
    auto add_square = [&](const array& a, const array& x) {
      const array wide = astype(x, a.dtype());
      return a + weight * (wide * wide);
    };
    const Params squares = map_floating(add_square, s.squares, g), sum = map_floating(add, s.sum, g);
    auto step = [this](const array& x, const array& p, const array& n, const array& a, const array& p0) {
      const array wide = astype(p, a.dtype()), z = p0 - a / (cbrt(n) + eps);
      return astype(detail::rest(momentum) * z + momentum * wide - wide, x.dtype());
    };
    return {map_floating(step, g, params, squares, sum, s.first), {count, squares, sum, s.first}};
  }
};

template <class Schedule = schedule>
struct madgrad_options {
  Schedule learning_rate;
  array momentum = 0.9, weight_decay = 0.0, eps = 1e-6;
};
/// source  optax.contrib.madgrad
template <class Options = madgrad_options<>>
constexpr auto madgrad(const Options& o) {
  using rate = std::remove_cvref_t<decltype(o.learning_rate)>;
  return chain(add_decayed_weights{o.weight_decay}, scale_by_madgrad<rate>{o.learning_rate, o.momentum, o.eps});
}

}  // namespace tokamax::optim
