// tokamax/backend/systolic/array_shape.hpp: sizes of an array and of a product, and the tiles that one has on the other.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/mxu.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <string>  // to_string

namespace tokamax::systolic_backend {

/// The cells of an array: `rows` along the sum, `columns` along the results, when weights stay in the cells.
struct array_shape {
  long long rows = 0, columns = 0;

  constexpr long long cells() const { return rows * columns; }
};

/// A product a [m, k] x b [k, n] -> [m, n].
struct product_shape {
  long long m = 0, k = 0, n = 0;

  friend constexpr bool operator==(const product_shape&, const product_shape&) = default;
  constexpr double macs() const { return static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n); }
};

constexpr long long divide_up(long long a, long long b) { return (a + b - 1) / b; }
constexpr long long round_up(long long a, long long b) { return divide_up(a, b) * b; }

namespace detail {
/// Rejects sizes below 1: an array without cells has no cycles, and neither has an empty product.
constexpr void check_sizes(const array_shape& a, const product_shape& p) {
  if (a.rows < 1 || a.columns < 1)
    throw error("systolic array: cells", std::to_string(a.rows) + " x " + std::to_string(a.columns), "at least 1 x 1");
  if (p.m < 1 || p.k < 1 || p.n < 1)
    throw error("systolic array: product",
                std::to_string(p.m) + " x " + std::to_string(p.k) + " x " + std::to_string(p.n), "sizes of at least 1");
}
}  // namespace detail

}  // namespace tokamax::systolic_backend
