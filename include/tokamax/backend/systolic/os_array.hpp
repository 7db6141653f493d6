// tokamax/backend/systolic/os_array.hpp: an array whose cells keep sums, register by register, cycle by cycle.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/scalesim.cpp
#pragma once

#include <tokamax/backend/systolic/pe_array.hpp>  // pe_run

#include <algorithm>  // min
#include <cstddef>    // size_t
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// a [m, k] x b [k, n], by tiles of `shape.rows` x `shape.columns` results. Activations move right, weights move down, and
/// cell (r, c) adds product k of its result in cycle k + r + c of the tile. A tile starts when the last cell of the one
/// before has finished, and its results leave without a cycle of their own, as SCALE-Sim counts.
template <class T>
pe_run<T> run_output_stationary(const array_shape& shape, const T* a, const T* b, const product_shape& p) {
  detail::check_sizes(shape, p);
  struct os_cell {
    T right{}, down{}, sum{};
    bool has_right = false, has_down = false;
  };
  pe_run<T> out;
  out.values.assign(static_cast<std::size_t>(p.m * p.n), T{});
  std::vector<os_cell> cells;
  const auto at = [&](long long r, long long c) -> os_cell& {
    return cells[static_cast<std::size_t>(r * shape.columns + c)];
  };
  const auto tile = [&](long long m0, long long n0) {
    cells.assign(static_cast<std::size_t>(shape.cells()), {});
    for (long long t = 0; t < p.k + shape.rows + shape.columns - 2; ++t, ++out.cycles)
      for (long long r = shape.rows - 1; r >= 0; --r)
        for (long long c = shape.columns - 1; c >= 0; --c) {
          os_cell& here = at(r, c);
          if (c > 0) {
            here.right = at(r, c - 1).right, here.has_right = at(r, c - 1).has_right;
          } else {
            here.has_right = t >= r && t - r < p.k && m0 + r < p.m;
            here.right = here.has_right ? a[(m0 + r) * p.k + t - r] : T{};
            out.a_reads += here.has_right;
          }
          if (r > 0) {
            here.down = at(r - 1, c).down, here.has_down = at(r - 1, c).has_down;
          } else {
            here.has_down = t >= c && t - c < p.k && n0 + c < p.n;
            here.down = here.has_down ? b[(t - c) * p.n + n0 + c] : T{};
            out.b_reads += here.has_down;
          }
          if (!here.has_right || !here.has_down) continue;
          here.sum = static_cast<T>(here.sum + here.right * here.down);
          ++out.macs;
        }
    for (long long r = 0; r < std::min(shape.rows, p.m - m0); ++r)
      for (long long c = 0; c < std::min(shape.columns, p.n - n0); ++c, ++out.out_writes)
        out.values[static_cast<std::size_t>((m0 + r) * p.n + n0 + c)] = at(r, c).sum;
  };
  for (long long m0 = 0; m0 < p.m; m0 += shape.rows)
    for (long long n0 = 0; n0 < p.n; n0 += shape.columns) tile(m0, n0);
  return out;
}

}  // namespace tokamax::systolic_backend
