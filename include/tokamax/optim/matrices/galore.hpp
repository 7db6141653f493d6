// tokamax/optim/matrices/galore.hpp: optimisers of gradients that are projected to a low rank.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/second_order/curvature.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>      // rem
#include <tokamax/lax/indexing/slice.hpp>            // slice_in_dim
#include <tokamax/lax/shapes/transpose.hpp>          // transpose
#include <tokamax/linalg/svd.hpp>                    // svd
#include <tokamax/numpy/matmul.hpp>                  // matmul
#include <tokamax/optim/adaptive/adam.hpp>           // scale_by_adam
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

#include <algorithm>  // min

namespace tokamax::optim {

template <class Params, class Inner>
struct galore_state {
  array count = zeros({}, i32);  ///< updates so far
  Params projectors{};           ///< of a matrix [m, n]: [max(m, n), rank]
  Inner inner{};
};

/// Each `update_proj_gap` steps, the first `rank` singular vectors of a gradient [m, n] become its projector P: left ones if
/// m >= n, and right ones otherwise. `inner` sees P^T g, or g P, and its update goes back through P, times `factor`.
/// Leaves of other ranks than 2 pass to `inner` as they are.
/// errors  "galore: rank" below 1
/// source  optax.contrib.scale_by_galore; Zhao et al. 2024, arXiv:2403.03507
template <class Inner = scale_by_adam>
struct scale_by_galore {
  int rank = 128, update_proj_gap = 200;
  double factor = 1;
  Inner inner{};

  template <class Params>
  constexpr auto init(const Params& params) const {
    if (rank < 1) reject(nullptr, location(), "galore: rank", message() << rank, "1 or more");
    const Params start = zeros_like(params);
    auto narrow = [this](const array& p) {
      if (p.rank() != 2) return p;
      const std::int64_t m = p.extent(0), n = p.extent(1), r = rank_of(p);
      if (m >= n) return zeros({r, n}, p.dtype());
      return zeros({m, r}, p.dtype());
    };
    auto projector = [this](const array& p) {
      if (p.rank() != 2) return absent();
      return zeros({std::max(p.extent(0), p.extent(1)), rank_of(p)}, p.dtype());
    };
    auto state = inner.init(map_floating(narrow, start));
    return galore_state<Params, decltype(state)>{zeros({}, i32), map_floating(projector, start), std::move(state)};
  }
  template <class Params, class State>
  constexpr std::pair<Params, galore_state<Params, State>> update(const Params& g, const galore_state<Params, State>& s,
                                                                  const Params& params) const {
    const array now = rem(s.count, array(update_proj_gap)) == 0;
    auto renew = [&](const array& before, const array& x) {
      if (x.rank() != 2) return before;
      const auto find = [this](const array& a, const array&) { return projector_of(a); };
      const auto keep = [](const array&, const array& b) { return b; };
      return cond(now, find, keep, x, before);
    };
    const Params projectors = map_floating(renew, s.projectors, g);
    auto down = [](const array& x, const array& p) {
      if (x.rank() != 2) return x;
      if (x.extent(0) >= x.extent(1)) return matmul(transpose(p), x);
      return matmul(x, p);
    };
    auto [changed, next] = inner.update(map_floating(down, g, projectors), s.inner, params);
    auto up = [this](const array& x, const array& u, const array& p) {
      if (x.rank() != 2) return u;
      if (x.extent(0) >= x.extent(1)) return factor * matmul(p, u);
      return factor * matmul(u, transpose(p));
    };
    return {map_floating(up, g, changed, projectors), {incremented(s.count), projectors, std::move(next)}};
  }

 private:
  constexpr std::int64_t rank_of(const array& p) const {
    return std::min<std::int64_t>(rank, std::min(p.extent(0), p.extent(1)));
  }
  constexpr array projector_of(const array& x) const {
    const auto parts = linalg::svd(astype(x, f32));
    if (x.extent(0) >= x.extent(1)) return astype(slice_in_dim(parts.u, 0, rank_of(x), 1), x.dtype());
    return astype(transpose(slice_in_dim(parts.vh, 0, rank_of(x), 0)), x.dtype());
  }
};

template <class Schedule = schedule, class Mask = mask, class Inner = scale_by_adam>
struct galore_options {
  Schedule learning_rate;
  int rank = 128, update_proj_gap = 200;
  double factor = 1;
  Inner inner{};
  array weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.galore
template <class Options = galore_options<>>
constexpr auto galore(const Options& o) {
  using inner = std::remove_cvref_t<decltype(o.inner)>;
  return chain(scale_by_galore<inner>{o.rank, o.update_proj_gap, o.factor, o.inner},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
