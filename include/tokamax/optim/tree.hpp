// tokamax/optim/tree.hpp: arithmetic of whole trees of parameters.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/reduce.hpp>                    // sum, max
#include <tokamax/numpy/clip.hpp>                    // clip
#include <tokamax/numpy/elementwise/predicates.hpp>  // allclose
#include <tokamax/optim/transforms/moments.hpp>      // moved, corrected
#include <tokamax/random/key.hpp>                    // split

namespace tokamax::optim {

namespace detail {
/// Calls f(leaf, rest_leaf...) for each floating parameter.
template <class F, class Tree, class... Rest>
constexpr void for_each_floating(const F& f, const Tree& tree, const Rest&... rest) {
  for_each_leaf(
      [&](const auto& leaf, const auto&... others) {
        if constexpr (is_parameter<decltype(leaf)>)
          if (is_floating(leaf.dtype())) f(static_cast<const array&>(leaf), others...);
      },
      tree, rest...);
}
/// The sum of f(leaf, rest_leaf...) over the floating parameters. Leaves of 16 bits arrive in f32.
template <class F, class Tree, class... Rest>
constexpr array summed(const F& f, const Tree& tree, const Rest&... rest) {
  array total = zeros({});
  const auto wide = [](const array& a) { return astype(a, carrying(a.dtype())); };
  for_each_floating([&](const auto&... leaf) { total = total + sum(f(wide(leaf)...)); }, tree, rest...);
  return total;
}
/// Numbers in the shapes of the floating parameters of a tree, and nothing elsewhere: what a state starts from.
template <class F, class Params>
constexpr Params state_like(const Params& params, const F& f) {
  return map_floating(f, for_averages(zeros_like(params)));
}
}  // namespace detail

/// Functions of trees. They see floating parameters only; other leaves are those of the first tree.
/// source  optax.tree
namespace tree {

template <class Tree, class... Rest>
constexpr Tree add(const Tree& first, const Rest&... rest) {
  return map_floating(
      [](const array& a, const auto&... others) { return (a + ... + static_cast<const array&>(others)); }, first,
      rest...);
}
template <class Tree>
constexpr Tree sub(const Tree& a, const Tree& b) {
  return map_floating([](const array& x, const array& y) { return x - y; }, a, b);
}
template <class Tree>
constexpr Tree mul(const Tree& a, const Tree& b) {
  return map_floating([](const array& x, const array& y) { return x * y; }, a, b);
}
template <class Tree>
constexpr Tree div(const Tree& a, const Tree& b) {
  return map_floating([](const array& x, const array& y) { return x / y; }, a, b);
}
template <class Tree>
constexpr Tree scale(const array& factor, const Tree& t) {
  return map_floating([&](const array& x) { return x * astype(factor, x.dtype()); }, t);
}
/// a + factor * b.
template <class Tree>
constexpr Tree add_scale(const Tree& a, const array& factor, const Tree& b) {
  return map_floating([&](const array& x, const array& y) { return x + y * astype(factor, y.dtype()); }, a, b);
}
/// x of `a` where the condition holds, and of `b` elsewhere.
template <class Tree>
constexpr Tree where(const array& condition, const Tree& a, const Tree& b) {
  return map_floating([&](const array& x, const array& y) { return select(condition, x, y); }, a, b);
}

/// The sum of all products of elements, in f32 at least.
template <class Tree>
constexpr array vdot(const Tree& a, const Tree& b) {
  return optim::detail::summed([](const array& x, const array& y) { return x * y; }, a, b);
}
/// The sum, the greatest and the smallest of all elements.
template <class Tree>
constexpr array sum(const Tree& t) {
  return optim::detail::summed([](const array& x) { return x; }, t);
}
template <class Tree>
constexpr array max(const Tree& t) {
  array most = full({}, -std::numeric_limits<float>::infinity());
  optim::detail::for_each_floating(
      [&](const array& x) {
        if (x.size() > 0) most = maximum(most, tokamax::max(x));
      },
      t);
  return most;
}
template <class Tree>
constexpr array min(const Tree& t) {
  array least = full({}, std::numeric_limits<float>::infinity());
  optim::detail::for_each_floating(
      [&](const array& x) {
        if (x.size() > 0) least = minimum(least, tokamax::min(x));
      },
      t);
  return least;
}
/// The number of elements.
template <class Tree>
constexpr std::int64_t size(const Tree& t) {
  std::int64_t count = 0;
  optim::detail::for_each_floating([&](const array& x) { count += x.size(); }, t);
  return count;
}

/// Norms of all elements together.
enum class order { one, two, infinity };
template <class Tree>
constexpr array norm(const Tree& t, order o = order::two) {
  if (o == order::one) return optim::detail::summed([](const array& x) { return abs(x); }, t);
  if (o == order::infinity) return max(map_floating([](const array& x) { return abs(x); }, t));
  return sqrt(vdot(t, t));
}

template <class Tree>
constexpr Tree clip(const Tree& t, double low, double high) {
  return map_floating([&](const array& x) { return tokamax::clip(x, low, high); }, t);
}
template <class Tree>
constexpr Tree full_like(const Tree& t, double value) {
  return map_floating([&](const array& x) { return full(x.shape(), value, x.dtype()); }, t);
}
template <class Tree>
constexpr Tree zeros_like(const Tree& t) {
  return full_like(t, 0);
}
template <class Tree>
constexpr Tree ones_like(const Tree& t) {
  return full_like(t, 1);
}
/// Each leaf `extents` times along new leading axes.
template <class Tree>
constexpr Tree batch_shape(const Tree& t, const shape& extents) {
  return map_floating(
      [&](const array& x) {
        shape s = extents;
        for (int i = 0; i < x.rank(); ++i) s.push_back(x.extent(i));
        return broadcast_to(x, s);
      },
      t);
}

template <class Tree>
constexpr Tree cast(const Tree& t, tokamax::dtype type) {
  return map_floating([&](const array& x) { return astype(x, type); }, t);
}
template <class Tree, class Other>
constexpr Tree cast_like(const Tree& t, const Other& other) {
  return map_floating([](const array& x, const array& o) { return astype(x, o.dtype()); }, t, other);
}
/// The dtype of the floating leaves: the widest, or the narrowest one.
enum class mixed { highest, lowest };
template <class Tree>
constexpr tokamax::dtype dtype(const Tree& t, mixed which = mixed::highest) {
  tokamax::dtype found = tokamax::dtype::none;
  optim::detail::for_each_floating(
      [&](const array& x) {
        const bool better =
            found == tokamax::dtype::none || (which == mixed::highest) == (promote({found}, {x.dtype()}).type != found);
        if (better) found = x.dtype();
      },
      t);
  return found;
}
/// Are all elements near one another? A bool scalar: |a - b| <= atol + rtol |b|.
template <class Tree>
constexpr array allclose(const Tree& a, const Tree& b, double rtol = 1e-5, double atol = 1e-8) {
  array near = ones({}, bool_);
  optim::detail::for_each_floating(
      [&](const array& x, const array& y) { near = logical_and(near, all(abs(x - y) <= atol + rtol * abs(y))); }, a, b);
  return near;
}

/// Averages after gradients g: of g, of its square, of its largest size so far, and what they are once corrected for starting
/// at 0 before `count` updates.
template <class Tree>
constexpr Tree update_moment(const Tree& g, const Tree& moment, const array& decay, int power = 1) {
  if (power == 1) return optim::detail::moved(decay, moment, g);
  return optim::detail::moved_squares(decay, moment, g);
}
template <class Tree>
constexpr Tree update_infinity_moment(const Tree& g, const Tree& moment, const array& decay, double eps) {
  return map_floating([&](const array& x, const array& m) { return maximum(abs(x) + eps, decay * m); }, g, moment);
}
template <class Tree>
constexpr Tree bias_correction(const Tree& moment, const array& decay, const array& count) {
  const array share = optim::detail::share(decay, astype(count, f32));
  return map_floating([&](const array& m) { return optim::detail::corrected(m, share); }, moment);
}

/// A key for each leaf of the tree, in the order of its leaves: [leaves, 2].
template <class Tree>
constexpr array split_key_like(const random::key& k, const Tree& t) {
  return random::split(k, {static_cast<std::int64_t>(count_leaves(t))});
}
/// A tree of samples: sampler(key, shape, dtype) for each leaf.
template <class Tree, class Sampler>
constexpr Tree random_like(const random::key& k, const Tree& t, const Sampler& sampler) {
  const array keys = split_key_like(k, t);
  Tree result = copy_tree(t);
  int at = 0;
  for_each_leaf(
      [&](auto& leaf) {
        const random::key mine(squeeze(slice_in_dim(keys, at, at + 1, 0), 0));
        ++at;
        if constexpr (is_parameter<decltype(leaf)>)
          if (is_floating(leaf.dtype())) static_cast<array&>(leaf) = sampler(mine, leaf.shape(), leaf.dtype());
      },
      result);
  return result;
}

}  // namespace tree

}  // namespace tokamax::optim
