// tokamax/optim/adaptive/novograd.hpp: momentum of gradients over the norms of their layers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/descent/first_order.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>                // sum
#include <tokamax/optim/transforms/moments.hpp>  // adam_state, averaged
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate

namespace tokamax::optim {

/// For each leaf, n = b2 n + (1 - b2) |g|^2 and m = b1 m + g / (sqrt(n + eps_root) + eps) + weight_decay p; the first step
/// sets n = |g|^2 and leaves b1 m out. The update is m.
/// dtypes  n is a scalar for each leaf; m and n of leaves of 16 bits are f32
/// source  optax.scale_by_novograd; Ginsburg et al. 2019, arXiv:1905.11286
struct scale_by_novograd {
  array b1 = 0.9, b2 = 0.25, eps = 1e-8, eps_root = 0.0, weight_decay = 0.0;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, map_floating([](const array& p) { return zeros({}, p.dtype()); }, start)};
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params& params) const {
    const array first = s.count == 0;
    auto measure = [&](const array& n, const array& x) {
      const array wide = astype(x, n.dtype()), now = sum(wide * wide);
      return select(first, now, detail::averaged(b2, now, n));
    };
    const Params nu = map_floating(measure, s.nu, g);
    auto add = [&](const array& m, const array& x, const array& n, const array& p) {
      const array scaled = astype(x, m.dtype()) / (sqrt(n + eps_root) + eps);
      const array now = scaled + detail::times(astype(p, m.dtype()), weight_decay);
      return select(first, now, b1 * m + now);
    };
    const Params mu = map_floating(add, s.mu, g, nu, params);
    auto narrow = [](const array& x, const array& m) { return astype(m, x.dtype()); };
    return {map_floating(narrow, g, mu), {incremented(s.count), mu, nu}};
  }
};

template <class Schedule = schedule>
struct novograd_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.25, eps = 1e-6, eps_root = 0.0, weight_decay = 0.0;
};
/// source  optax.novograd
template <class Options = novograd_options<>>
constexpr auto novograd(const Options& o) {
  return chain(scale_by_novograd{o.b1, o.b2, o.eps, o.eps_root, o.weight_decay},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
