// tokamax/backend/systolic/pe_array.hpp: an array cell by cell, register by register, cycle by cycle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>  // array_shape, product_shape

#include <algorithm>  // max
#include <cstddef>    // size_t
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// One processing element. What it holds after a cycle is what its neighbours read in the next one.
template <class T>
struct cell {
  T activation{}, weight{}, shadow{}, sum{};  // `shadow` is the weight of the next tile, on its way down
  bool active = false;                        // it multiplied in this cycle
  bool first = false;                         // its activation is the first of a tile: `shadow` becomes `weight`
  bool shifts = false;                        // `shadow` moved in this cycle
  long long row = -1, tile = -1;              // the row, and the tile of weights, that its activation belongs to
};

/// What a run of an array did. `values` is [m, n]. The counts are of words that crossed the edge of the array.
template <class T>
struct pe_run {
  std::vector<T> values;
  long long cycles = 0, a_reads = 0, b_reads = 0, out_writes = 0, macs = 0;
};

/// An array whose cells keep weights, and load the next ones in the shadow of the product.
///
/// Activations move right and sums move down, one cell per cycle, so that row m of a tile that starts in cycle s is in
/// cell (r, c) in cycle s + m + r + c. Weights move down the shadow registers. Row r takes R - r of them, from cycle
/// s' + r + c on: thus the skew of the weights is that of the activations, and tiles can follow each other every
/// max(M, R) cycles. Each cell changes to its new weight with the first activation of the tile.
/// Sums over K that need several tiles are added outside, in the order of k.
template <class T>
class pe_array {
 public:
  explicit pe_array(array_shape shape) : shape_(shape) {}

  array_shape shape() const { return shape_; }
  const cell<T>& at(long long r, long long c) const { return cells_[index(r, c)]; }

  /// a [m, k] x b [k, n], both by rows. After each cycle `watch(cycle, *this)` may look at the cells.
  template <class Watch>
  pe_run<T> run(const T* a, const T* b, const product_shape& p, Watch watch) {
    detail::check_sizes(shape_, p);
    start(a, b, p);
    pe_run<T> out;
    out.values.assign(static_cast<std::size_t>(p.m * p.n), T{});
    for (long long t = 0; written_ < folds_ * p.m * shape_.columns; ++t, ++out.cycles) {
      // Neighbours are read before they change: from the last row up, and from the right.
      for (long long r = shape_.rows - 1; r >= 0; --r)
        for (long long c = shape_.columns - 1; c >= 0; --c) step(t, r, c, out);
      watch(t, *this);
    }
    return out;
  }
  pe_run<T> run(const T* a, const T* b, const product_shape& p) {
    return run(a, b, p, [](long long, const pe_array&) {});
  }

 private:
  std::size_t index(long long r, long long c) const { return static_cast<std::size_t>(r * shape_.columns + c); }

  void start(const T* a, const T* b, const product_shape& p) {
    a_ = a, b_ = b, p_ = p;
    k_folds_ = divide_up(p.k, shape_.rows);
    folds_ = k_folds_ * divide_up(p.n, shape_.columns);
    spacing_ = std::max(p.m, shape_.rows);
    written_ = 0;
    cells_.assign(static_cast<std::size_t>(shape_.cells()), cell<T>{});
  }

  /// Cell (r, c) in cycle t.
  void step(long long t, long long r, long long c, pe_run<T>& out) {
    cell<T>& here = cells_[index(r, c)];
    take_activation(t, r, c, here, out);
    if (here.active && here.first) here.weight = here.shadow;  // the register is read before it is written below
    shift_weight(t, r, c, here, out);
    const T above = r == 0 ? T{} : cells_[index(r - 1, c)].sum;
    here.sum = here.active ? static_cast<T>(above + here.activation * here.weight) : T{};
    if (!here.active) return;
    const long long k = here.tile % k_folds_ * shape_.rows + r, n = here.tile / k_folds_ * shape_.columns + c;
    if (k < p_.k && n < p_.n) ++out.macs;
    if (r + 1 < shape_.rows) return;
    ++written_;
    if (n >= p_.n) return;  // a column without weights
    ++out.out_writes;
    T& sum = out.values[static_cast<std::size_t>(here.row * p_.n + n)];
    sum = static_cast<T>(sum + here.sum);
  }

  /// The activation of the left neighbour, or of the edge.
  void take_activation(long long t, long long r, long long c, cell<T>& here, pe_run<T>& out) {
    if (c > 0) {
      const cell<T>& left = cells_[index(r, c - 1)];
      here.activation = left.activation, here.active = left.active, here.first = left.first;
      here.row = left.row, here.tile = left.tile;
      return;
    }
    const long long since = t - shape_.rows - r, fold = since < 0 ? -1 : since / spacing_, m = since - fold * spacing_;
    here.active = fold >= 0 && fold < folds_ && m < p_.m;
    here.first = here.active && m == 0;
    here.row = here.active ? m : -1, here.tile = here.active ? fold : -1;
    const long long k = fold % k_folds_ * shape_.rows + r;
    here.activation = here.active && k < p_.k ? a_[m * p_.k + k] : T{};
    if (here.active && k < p_.k) ++out.a_reads;
  }

  /// The weight of the upper neighbour, or of the edge, which sends the tile's last row first.
  void shift_weight(long long t, long long r, long long c, cell<T>& here, pe_run<T>& out) {
    const long long begin = t - c, fold = begin < 0 ? -1 : begin / spacing_;
    const long long since = begin - fold * spacing_;  // cycles since this fold's first weight entered column c
    here.shifts = fold >= 0 && fold < folds_ && since >= r && since < shape_.rows;
    if (!here.shifts) return;
    if (r > 0) {
      here.shadow = cells_[index(r - 1, c)].shadow;
      return;
    }
    const long long k = fold % k_folds_ * shape_.rows + shape_.rows - 1 - since;
    const long long n = fold / k_folds_ * shape_.columns + c;
    here.shadow = k < p_.k && n < p_.n ? b_[k * p_.n + n] : T{};
    if (k < p_.k && n < p_.n) ++out.b_reads;
  }

  array_shape shape_;
  product_shape p_;
  const T* a_ = nullptr;
  const T* b_ = nullptr;
  long long folds_ = 0, k_folds_ = 0, spacing_ = 0, written_ = 0;
  std::vector<cell<T>> cells_;
};

}  // namespace tokamax::systolic_backend
