// tokamax/backend/systolic/mxu.hpp: cycles of an array that keeps weights in its cells and loads the next ones meanwhile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>  // array_shape, product_shape

#include <algorithm>  // max

namespace tokamax::systolic_backend {

/// The cycles of a product, by what the array does in them. They add up to `total`.
struct array_cycles {
  long long load = 0;   ///< the first weights move in, and nothing else happens
  long long rows = 0;   ///< a row of activations enters in each of them
  long long wait = 0;   ///< no row is left, and the next weights are not there yet
  long long drain = 0;  ///< the last row crosses the array

  constexpr long long total() const { return load + rows + wait + drain; }
};

/// Cycles of one product on an array with two registers for weights in each cell: one is used, the other is loaded.
///
///   T = R + (F - 1) max(M, R) + M + R + C - 2,   F = ceil(K / R) ceil(N / C)
///
/// The first weights take R cycles. Then tiles of weights follow each other every max(M, R) cycles: a tile has M rows to
/// multiply, and the weights of the next one need R cycles to reach the last row. The last row of activations needs
/// R + C - 2 more cycles from the first cell to the last one. `pe_array` counts the same cycles by doing the work.
///
/// errors  tokamax::error for sizes below 1
/// source  Kung and Leiserson 1978; Jouppi et al. 2017, arXiv:1704.04760 (weights are loaded in the shadow of a product)
constexpr array_cycles pipelined_cycles(const array_shape& a, const product_shape& p) {
  detail::check_sizes(a, p);
  const long long folds = divide_up(p.k, a.rows) * divide_up(p.n, a.columns);
  return {.load = a.rows,
          .rows = folds * p.m,
          .wait = (folds - 1) * (std::max(p.m, a.rows) - p.m),
          .drain = a.rows + a.columns - 2};
}

/// The share of the array's multiplications that the product needed: M K N / (T R C).
constexpr double utilisation(const array_shape& a, const product_shape& p, long long cycles) {
  return p.macs() / (static_cast<double>(cycles) * static_cast<double>(a.cells()));
}

}  // namespace tokamax::systolic_backend
