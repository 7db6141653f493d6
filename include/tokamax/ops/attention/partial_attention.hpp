// tokamax/ops/attention/partial_attention.hpp: attention to a part of the keys, and how such parts become one result.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>   // select
#include <tokamax/lax/elementwise/division.hpp>  // /
#include <tokamax/lax/elementwise/unary.hpp>     // exp
#include <tokamax/lax/shapes/reshape.hpp>        // expand_dims
#include <tokamax/lax/shapes/transpose.hpp>      // swapaxes

#include <initializer_list>  // lists in braces

namespace tokamax {

/// A result of attention with what is needed to add more keys to it.
struct partial_attention {
  array out;          ///< [..., T, N, h]
  array max;          ///< [..., N, T] the highest score of each query
  array denominator;  ///< [..., N, T] sum_j exp(score_j - max)
};

/// The attention to all keys of several parts, each of which has seen other keys for the same queries.
///
///   m = max_i m_i,  w_i = exp(m_i - m) * l_i,  out = sum_i w_i out_i / sum_i w_i
///
/// `normalized` says whether each `out` has been divided by its denominator, and whether the result shall be. A query that
/// has seen no key at all, with denominators of 0, gets 0.
/// source  tokamax.combine_partial_results; Dao et al. 2022, arXiv:2205.14135, section 3.1
constexpr partial_attention combine_partial_results(const vec<partial_attention>& parts, bool normalized = true,
                                                    source_line l = source_line::current()) {
  const auto per_head = [l](const array& x) { return expand_dims(swapaxes(x, -1, -2, l), -1, l); };  // [..., T, N, 1]
  array most = parts[0].max;
  for (const partial_attention& p : parts) most = maximum(most, p.max, l);
  array total, out;
  for (const partial_attention& p : parts) {
    const array share = select(p.max == located(most, l), 1.0f, exp(p.max - located(most, l), l), l);
    const array sum = p.denominator * located(share, l);
    array weight = per_head(share);
    if (normalized) weight = per_head(sum);
    const array mine = astype(p.out, carrying(p.out.dtype()), l) * located(weight, l);
    if (total.exists()) {
      total = total + located(sum, l);
      out = out + located(mine, l);
    } else {
      total = sum;
      out = mine;
    }
  }
  if (normalized) {
    const array all = per_head(total);
    out = select(all == located(0.0f, l), 0.0f, out / located(all, l), l);
  }
  return {astype(out, parts[0].out.dtype(), l), most, total};
}

}  // namespace tokamax
