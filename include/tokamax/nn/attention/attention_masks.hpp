// tokamax/nn/attention/attention_masks.hpp: masks of attention as booleans.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (the op has causal_mask and others, which make no booleans)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // logical_and
#include <tokamax/lax/iota.hpp>                 // iota
#include <tokamax/lax/shapes/reshape.hpp>       // expand_dims

#include <initializer_list>  // initializer_list

namespace tokamax::nn {

/// Which keys a query sees: `f(query, key)` of all pairs, by default whether neither is zero, as for tokens and padding.
/// shapes  queries [batch..., T], keys [batch..., S] -> [batch..., 1, T, S]
/// source  flax.nnx.make_attention_mask
template <class F>
constexpr array make_attention_mask(const array& queries, const array& keys, const F& f,
                                    source_line l = source_line::current()) {
  return expand_dims(astype(f(expand_dims(queries, -1, l), expand_dims(keys, -2, l)), bool_, l), -3, l);
}
constexpr array make_attention_mask(const array& queries, const array& keys, source_line l = source_line::current()) {
  const auto both = [&](const array& q, const array& k) { return logical_and(q != 0, k != 0, l); };
  return make_attention_mask(queries, keys, both, l);
}

/// Each query sees the keys at its own position and before.
/// shapes  x [batch..., T] -> [batch..., 1, T, T]
/// errors  "make_causal_mask: x" without an axis
/// source  flax.nnx.make_causal_mask
constexpr array make_causal_mask(const array& x, source_line l = source_line::current()) {
  if (x.rank() == 0) {
    reject(x, l, "make_causal_mask: x", x.type(), "[batch..., T]");
    return x;
  }
  const array at = iota(i32, x.shape(), x.rank() - 1, l);
  return make_attention_mask(at, at, [](const array& q, const array& k) { return q >= k; }, l);
}

/// Keys that all masks let a query see; a mask that does not exist lets it see all.
/// source  flax.nnx.combine_masks
constexpr array combine_masks(std::initializer_list<array> masks, source_line l = source_line::current()) {
  array all;
  for (const array& m : masks) {
    if (!m.exists()) continue;
    if (all.exists())
      all = logical_and(all, m, l);
    else
      all = astype(m, bool_, l);
  }
  return all;
}

}  // namespace tokamax::nn
