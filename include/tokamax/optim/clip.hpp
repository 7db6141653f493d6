// tokamax/optim/clip.hpp: bound updates, element by element or by their joint norm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>       // sum
#include <tokamax/numpy/clip.hpp>       // clip
#include <tokamax/optim/transform.hpp>  // map_floating

namespace tokamax::optim {

/// The Euclidean norm of all floating leaves together.
///
///   sqrt(sum of all squares)
///
/// dtypes  f32, whatever the leaves are
/// source  optax.global_norm
template <class Tree>
constexpr array global_norm(const Tree& tree) {
  array total = zeros({});
  for_each_leaf(
      [&](const array& a) {
        if (!is_floating(a.dtype())) return;
        const array x = astype(a, f32);
        total = total + sum(x * x);
      },
      tree);
  return sqrt(total);
}

/// Scales all updates down so that their joint norm is at most `max_norm`.
///
///   u * max_norm / |updates|   if |updates| >= max_norm
///
/// source  optax.clip_by_global_norm; Pascanu et al. 2013, arXiv:1211.5063
struct clip_by_global_norm {
  double max_norm = 1;

  constexpr explicit clip_by_global_norm(double norm) : max_norm(norm) {}
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&) const {
    const array norm = global_norm(updates), inside = norm < max_norm;
    auto clipped = [&](const array& u) { return select(inside, u, u / astype(norm, u.dtype()) * max_norm); };
    return {map_floating(clipped, updates), s};
  }
};

/// Bounds every element to [-limit, limit].
/// source  optax.clip
struct clip_by_value {
  double limit = 1;

  constexpr explicit clip_by_value(double l) : limit(l) {}
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&) const {
    return {map_floating([this](const array& u) { return clip(u, -limit, limit); }, updates), s};
  }
};

}  // namespace tokamax::optim
