// tokamax/optim/adaptive/sm3.hpp: adagrad whose squares are kept for rows and columns only.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/descent/first_order.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>        // slice_in_dim
#include <tokamax/lax/reduce.hpp>                // max
#include <tokamax/lax/shapes/concatenate.hpp>    // concatenate
#include <tokamax/optim/transforms/moments.hpp>  // moved
#include <tokamax/optim/transforms/scale.hpp>    // scale

namespace tokamax::optim {

template <class Params>
struct sm3_state {
  Params squares{};  ///< of each leaf [a, b, ...] the bounds of its rows, columns and so on: [a + b + ...]
  Params mu{};       ///< averages of updates
};

/// The square of an element is at most the least bound of its row, column and so on. With n that bound plus g^2,
/// x = g / sqrt(n + eps), or 0 where n is 0, the update is the average of x with b1, and the new bound of a row is the
/// greatest n in it. With b2 below 1, n is b2 times the bound plus 1 - b2 times g^2.
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.scale_by_sm3; Anil et al. 2019, arXiv:1901.11150
struct scale_by_sm3 {
  array b1 = 0.9;
  double b2 = 1;
  array eps = 1e-8;

  template <class Params>
  constexpr sm3_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    auto bounds = [](const array& p) {
      std::int64_t n = p.rank() == 0 ? 1 : 0;
      for (int i = 0; i < p.rank(); ++i) n += p.extent(i);
      return zeros({n}, p.dtype());
    };
    return {map_floating(bounds, start), start};
  }
  template <class Params>
  constexpr std::pair<Params, sm3_state<Params>> update(const Params& g, const sm3_state<Params>& s,
                                                        const Params&) const {
    auto square = [this](const array& bounds, const array& x) {
      const array wide = astype(x, bounds.dtype());
      return (b2 == 1 ? 1.0 : 1.0 - b2) * (wide * wide) + b2 * least(bounds, x.shape());
    };
    const Params n = map_floating(square, s.squares, g);
    auto divide = [this](const array& a, const array& x) {
      return astype(x, a.dtype()) * select(a > 0, rsqrt(a + eps), zeros_like(a));
    };
    const Params mu = detail::moved(b1, s.mu, map_floating(divide, n, g));
    auto narrow = [](const array& x, const array& m) { return astype(m, x.dtype()); };
    return {map_floating(narrow, g, mu), {map_floating([this](const array& a) { return greatest(a); }, n), mu}};
  }

 private:
  /// The least bound of each element.
  constexpr array least(const array& bounds, const shape& extents) const {
    if (extents.rank() == 0) return reshape(bounds, {});
    array result;
    std::int64_t from = 0;
    for (int i = 0; i < extents.rank(); ++i) {
      shape across;
      for (int k = 0; k < extents.rank(); ++k) across.push_back(k == i ? extents[i] : 1);
      const array mine = broadcast_to(reshape(slice_in_dim(bounds, from, from + extents[i], 0), across), extents);
      if (i == 0)
        result = mine;
      else
        result = minimum(result, mine);
      from += extents[i];
    }
    return result;
  }
  /// The greatest square of each row, column and so on.
  constexpr array greatest(const array& n) const {
    if (n.rank() < 2) return reshape(n, {n.size()});
    arrays parts;
    for (int i = 0; i < n.rank(); ++i) {
      axes others;
      for (int k = 0; k < n.rank(); ++k)
        if (k != i) others.push_back(k);
      if (n.size() == 0)
        parts.push_back(zeros({n.extent(i)}, n.dtype()));  // an axis without elements has no greatest one
      else
        parts.push_back(max(n, {.axis = others}));
    }
    return concatenate(parts, 0);
  }
};

struct sm3_options {
  array learning_rate = 0.0;
  array momentum = 0.9;
};
/// source  optax.sm3
constexpr auto sm3(const sm3_options& o) { return chain(scale_by_sm3{o.momentum}, scale{-1.0 * o.learning_rate}); }

}  // namespace tokamax::optim
