// tokamax/optim/transforms/clip.hpp: bound updates, element by element or by their joint norm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>       // sum
#include <tokamax/numpy/clip.hpp>       // clip
#include <tokamax/optim/transform.hpp>  // map_floating

namespace tokamax::optim {

namespace detail {
/// The norm of a tree as factor * root. The factor is 1, or the power of two above the square root of the largest number
/// where the sum of squares is infinite: then small numbers, whose squares vanish, do not count.
struct scaled_norm {
  array root, factor, inverse;

  template <class Tree>
  constexpr explicit scaled_norm(const Tree& tree) {
    dtype type = f32;
    for_each_leaf([&](const array& a) { type = a.dtype() == f64 ? f64 : type; }, tree);
    const double power = type == f64 ? 0x1p600 : 0x1p80;
    array total = zeros({}, type), reduced = total;
    for_each_leaf(
        [&](const array& a) {
          if (!is_floating(a.dtype())) return;
          const array x = astype(a, type), small = x * (1 / power);
          total = total + sum(x * x);
          reduced = reduced + sum(small * small);
        },
        tree);
    const array fits = isfinite(total);
    root = sqrt(select(fits, total, reduced));
    factor = select(fits, ones_like(total), full_like(total, power));
    inverse = select(fits, ones_like(total), full_like(total, 1 / power));
  }
};
}  // namespace detail

/// The Euclidean norm of all floating leaves together, also where the sum of squares overflows.
///
///   sqrt(sum of all squares)
///
/// dtypes  f32; f64 if a leaf is f64
/// source  optax.global_norm
template <class Tree>
constexpr array global_norm(const Tree& tree) {
  const detail::scaled_norm norm(tree);
  return norm.root * norm.factor;
}

/// Scales all updates down so that their joint norm is at most `max_norm`.
///
///   u * max_norm / |updates|   if |updates| > max_norm
///
/// dtypes  computed in the dtype of global_norm and rounded once
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
    const detail::scaled_norm norm(updates);
    const array inside = norm.root * norm.factor <= max_norm;
    auto clipped = [&](const array& u) {
      const array wide = astype(u, norm.root.dtype());
      return astype(select(inside, wide, wide * norm.inverse / norm.root * max_norm), u.dtype());
    };
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
