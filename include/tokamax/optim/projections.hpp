// tokamax/optim/projections.hpp: the nearest point of a set, for parameters that must stay in it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/cumulative.hpp>          // cumsum
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/sort.hpp>                // sort
#include <tokamax/lax/stop_gradient.hpp>       // stop_gradient
#include <tokamax/optim/tree.hpp>              // vdot, norm

namespace tokamax::optim {

/// The nearest points of sets of trees, all of whose elements count as one vector. Gradients are those of the projection.
/// source  optax.projections

/// max(x, 0).
template <class Tree>
constexpr Tree projection_non_negative(const Tree& x) {
  return map_floating([](const array& a) { return maximum(a, zeros_like(a)); }, x);
}
/// x, bounded by lower and upper: numbers, or trees like x.
template <class Tree>
constexpr Tree projection_box(const Tree& x, const array& lower, const array& upper) {
  return map_floating([&](const array& a) { return clip(a, lower, upper); }, x);
}
template <class Tree>
  requires(!std::is_same_v<Tree, array>)
constexpr Tree projection_box(const Tree& x, const Tree& lower, const Tree& upper) {
  return map_floating([](const array& a, const array& l, const array& u) { return clip(a, l, u); }, x, lower, upper);
}
/// x, bounded by 0 and `scale`.
template <class Tree>
constexpr Tree projection_hypercube(const Tree& x, const array& scale = 1.0) {
  return projection_box(x, array(0.0), scale);
}
/// x, bounded by -scale and scale.
template <class Tree>
constexpr Tree projection_linf_ball(const Tree& x, const array& scale = 1.0) {
  return projection_box(x, -1.0 * scale, scale);
}

namespace detail {
/// The number t with sum(max(x - t, 0)) = scale.
template <class Tree>
constexpr array simplex_threshold(const Tree& x, const array& scale) {
  arrays parts;
  for_each_floating([&](const array& a) { parts.push_back(reshape(astype(a, carrying(a.dtype())), {a.size()})); }, x);
  const array sorted = sort(concatenate(parts, 0), 0, true);
  const array count = astype(iota(i32, sorted.shape(), 0), sorted.dtype()) + 1.0, total = cumsum(sorted, 0) - scale;
  const array kept = sum(astype(sorted * count > total, i32));  // so many of the largest lie above the threshold
  const array last = kept == astype(count, i32);
  return sum(select(last, total / count, zeros_like(total)));
}
}  // namespace detail
/// The point of the simplex: elements of 0 or more, whose sum is `scale`.
///
///   max(x - t, 0)
///
/// source  optax.projection_simplex; Duchi et al. 2008
template <class Tree>
constexpr Tree projection_simplex(const Tree& x, const array& scale = 1.0) {
  const array threshold = stop_gradient(detail::simplex_threshold(x, scale));
  array count = zeros({}), total = zeros({});  // of the elements above it; these make the gradient
  detail::for_each_floating(
      [&](const array& a) {
        const array wide = astype(a, threshold.dtype()), above = wide > threshold;
        count = count + sum(astype(above, f32));
        total = total + sum(select(above, wide, zeros_like(wide)));
      },
      x);
  const array shift = (total - scale) / count;
  auto move = [&](const array& a) {
    const array wide = astype(a, threshold.dtype());
    return astype(select(wide > threshold, wide - shift, zeros_like(wide)), a.dtype());
  };
  return map_floating(move, x);
}
/// The point with |x|_1 = scale.
template <class Tree>
constexpr Tree projection_l1_sphere(const Tree& x, const array& scale = 1.0) {
  const Tree sizes = projection_simplex(map_floating([](const array& a) { return abs(a); }, x), scale);
  return map_floating([](const array& a, const array& s) { return sign(a) * s; }, x, sizes);
}
/// The point with |x|_1 <= scale.
template <class Tree>
constexpr Tree projection_l1_ball(const Tree& x, const array& scale = 1.0) {
  return tree::where(tree::norm(x, tree::order::one) <= scale, x, projection_l1_sphere(x, scale));
}
/// The point with |x|_2 = scale.
template <class Tree>
constexpr Tree projection_l2_sphere(const Tree& x, const array& scale = 1.0) {
  return tree::scale(scale / tree::norm(x), x);
}
/// The point with |x|_2 <= scale.
template <class Tree>
constexpr Tree projection_l2_ball(const Tree& x, const array& scale = 1.0) {
  return tree::scale(scale / sqrt(maximum(tree::vdot(x, x), scale * scale)), x);
}
/// The point of the line through a.
template <class Tree>
constexpr Tree projection_vector(const Tree& x, const Tree& a) {
  return tree::scale(tree::vdot(x, a) / tree::vdot(a, a), a);
}
/// The point of the plane <x, a> = b.
template <class Tree>
constexpr Tree projection_hyperplane(const Tree& x, const Tree& a, const array& b) {
  return tree::add_scale(x, (b - tree::vdot(x, a)) / tree::vdot(a, a), a);
}
/// The point of the half space <x, a> <= b.
template <class Tree>
constexpr Tree projection_halfspace(const Tree& x, const Tree& a, const array& b) {
  const array way = (b - tree::vdot(x, a)) / tree::vdot(a, a);
  return tree::add_scale(x, minimum(way, zeros_like(way)), a);
}

}  // namespace tokamax::optim
