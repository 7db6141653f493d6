// tokamax/optim/wrappers/flatten.hpp: an optimiser that sees all parameters as one vector.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/optim/tree.hpp>              // for_each_floating

namespace tokamax::optim {

namespace detail {
/// The floating parameters as one vector, in order.
template <class Params>
constexpr array joined(const Params& params) {
  arrays parts;
  const dtype type = tree::dtype(params);
  for_each_floating([&](const array& p) { parts.push_back(reshape(astype(p, type), {p.size()})); }, params);
  return concatenate(parts, 0);
}
/// A copy of `like` with the elements of such a vector.
template <class Params>
constexpr Params parted(const array& flat, const Params& like) {
  std::int64_t from = 0;
  auto part = [&](const array& p) {
    const array mine = slice_in_dim(flat, from, from + p.size(), 0);
    from += p.size();
    return astype(reshape(mine, p.shape()), p.dtype());
  };
  return map_floating(part, like);
}
}  // namespace detail

/// Gives `inner` the floating parameters as one vector, and its updates back to the leaves.
/// shapes  the vector has the elements of all leaves, in order; leaves of several dtypes become their promoted one
/// source  optax.flatten
template <class Inner>
struct flatten {
  Inner inner;
  constexpr explicit flatten(Inner i) : inner(std::move(i)) {}

  template <class Params>
  constexpr auto init(const Params& params) const {
    return inner.init(detail::joined(params));
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, State> update(const Params& updates, const State& s, const Params& params,
                                            const Extra& extra = {}) const {
    auto [flat, next] = update_with(inner, detail::joined(updates), s, detail::joined(params), extra);
    return {detail::parted(flat, updates), std::move(next)};
  }
};

}  // namespace tokamax::optim
