// tokamax/backend/systolic/product_cost.hpp: what a product of two blocks in VMEM costs on the arrays of a core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>  // product_shape
#include <tokamax/backend/systolic/chip.hpp>         // chip

#include <algorithm>  // max
#include <string>     // string

namespace tokamax::systolic_backend {

/// The cycles of a product, by what the arrays do in them. They add up to `total`.
struct product_cycles {
  double useful = 0;      ///< multiplications that were asked for, at the rate of all arrays
  double padding = 0;     ///< rows, columns and arrays that have nothing to multiply
  double fill = 0;        ///< the first weights and the first row on their way in, the last result on its way out
  double weights = 0;     ///< a tile has fewer rows than the next weights need cycles to load
  double swap = 0;        ///< the change from one tile of weights to the next
  double accumulate = 0;  ///< the vector unit adds tiles of K more slowly than the arrays give them
  double drain = 0;       ///< of `fill`, the end: a product that does not need this one may start then

  constexpr double total() const { return useful + padding + fill + weights + swap + accumulate; }
};

namespace detail {

/// The cycles if `used` arrays work, and `split` of them share the rows of each tile of weights.
constexpr product_cycles product_on(const chip& c, const product_shape& p, element e, bool accumulates, long long used,
                                    long long split) {
  const long long dim = count_of(c.dim), tiles_k = divide_up(p.k, dim), tiles_n = divide_up(p.n, dim);
  const long long tiles = divide_up(tiles_k * tiles_n, used / split);
  const double rows = static_cast<double>(round_up(divide_up(p.m, split), c.row_granule(e))) / c.rows_per_cycle(e);
  const double latency = used <= 2 ? c.mxu_near.latency : c.mxu_far.latency;
  product_cycles r;
  r.useful = p.macs() / (c.peak_per_cycle(e) / 2);
  r.padding = static_cast<double>(tiles) * rows - r.useful;
  r.drain = latency - c.row_group / c.rows_per_cycle(e) + c.product_edge;
  r.fill = c.weight_push + r.drain;
  r.weights = static_cast<double>(tiles - 1) * std::max(0.0, c.weight_push - rows);
  r.swap = static_cast<double>(tiles - 1) * c.swap_bubble;
  // An array without accumulators hands out each tile of K, and f32 additions start in one slot of a bundle.
  if (c.accumulators == 0 && (tiles_k > 1 || accumulates)) {
    const double registers =
        static_cast<double>(divide_up(p.m, count_of(c.sublanes)) * tiles_n * tiles_k) * c.dim / c.lanes;
    r.accumulate = std::max(0.0, registers * c.vector_f32.interval - (r.total() - r.fill));
  }
  return r;
}

}  // namespace detail

/// Cycles of a [m, k] x b [k, n] on a core, with both operands and the result in VMEM.
///
/// The tiles of weights (dim x dim) are dealt to the arrays, or several arrays share the rows of one, whichever is faster:
///
///   push + edge + latency + (tiles - 1) (max(rows, push) + bubble) + rows - group
///
/// with `tiles` and `rows` those of one array, and the latency of one group of rows. On one array without bubble this is
/// `pipelined_cycles`. With `accumulates` the result is added to what the block held before.
///
/// errors  tokamax::error for sizes below 1, and for a type that the chip does not multiply
constexpr product_cycles product_cost(const chip& c, const product_shape& p, element e = element::bf16,
                                      bool accumulates = false) {
  detail::check_sizes({count_of(c.dim), count_of(c.dim)}, p);
  if (c.rows_per_cycle(e) == 0)
    throw error("systolic product: element type", std::string(c.name) + " without a rate for it",
                "a type that the chip multiplies");
  product_cycles best = detail::product_on(c, p, e, accumulates, 1, 1);
  for (long long used = 1; used <= count_of(c.mxus); ++used)
    for (long long split = 1; split <= used; ++split) {
      if (used % split != 0) continue;
      const product_cycles r = detail::product_on(c, p, e, accumulates, used, split);
      if (r.total() < best.total()) best = r;
    }
  return best;
}

}  // namespace tokamax::systolic_backend
