// tokamax/optim/adaptive/adan.hpp: Adam with averages of differences of gradients.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved, corrected
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct adan_state {
  array count = zeros({}, i32);  ///< updates so far
  Params m{}, v{}, n{};          ///< averages of gradients, of their differences, and of squares of both
  Params before{};               ///< the last gradient
};

/// With d = g - g of the last step, or 0 in the first one:
///
///   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) d,  n = b3 n + (1 - b3) (g + (1 - b2) d)^2
///   u = (m' + (1 - b2) v') / (sqrt(n' + eps_root) + eps)
///
/// where x' is an average, corrected for starting at 0.
///
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.scale_by_adan; Xie et al. 2022, arXiv:2208.06677
struct scale_by_adan {
  array b1 = 0.98, b2 = 0.92, b3 = 0.99, eps = 1e-8, eps_root = 0.0;

  template <class Params>
  constexpr adan_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, start, start, start};
  }
  template <class Params>
  constexpr std::pair<Params, adan_state<Params>> update(const Params& g, const adan_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32);
    auto widen = [](const array& b, const array& x) { return astype(x, b.dtype()); };
    const Params now = map_floating(widen, s.before, g);
    auto differ = [&](const array& x, const array& b) { return select(s.count == 0, zeros_like(x), x - b); };
    const Params d = map_floating(differ, now, s.before);
    auto ahead = [this](const array& x, const array& y) { return x + detail::rest(b2) * y; };
    const Params m = detail::moved(b1, s.m, now), v = detail::moved(b2, s.v, d),
                 n = detail::moved_squares(b3, s.n, map_floating(ahead, now, d));
    const array of_m = detail::share(b1, t), of_v = detail::share(b2, t), of_n = detail::share(b3, t);
    auto step = [&](const array& x, const array& a, const array& b, const array& c) {
      const array root = sqrt(detail::corrected(c, of_n) + eps_root) + eps;
      return astype(ahead(detail::corrected(a, of_m), detail::corrected(b, of_v)) / root, x.dtype());
    };
    return {map_floating(step, g, m, v, n), {count, m, v, n, now}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct adan_options {
  Schedule learning_rate;
  array b1 = 0.98, b2 = 0.92, b3 = 0.99, eps = 1e-8, eps_root = 1e-8, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.adan
template <class Options = adan_options<>>
constexpr auto adan(const Options& o) {
  return chain(scale_by_adan{o.b1, o.b2, o.b3, o.eps, o.eps_root}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
