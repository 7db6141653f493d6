// tokamax/backend/systolic/two_core_matmul.hpp: a matrix product on both cores of a chip, in the versions of a tutorial.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/two_core_matmul.cpp
#pragma once

#include <tokamax/backend/systolic/program.hpp>  // program

#include <algorithm>  // min
#include <array>      // array
#include <string>     // to_string
#include <utility>    // move
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// How two cores share a product. Each has half of the rows of the left matrix in VMEM. Blocks of columns of the right matrix
/// and of the result go through two buffers each.
struct two_core_options {
  int panels = 1;           ///< in which the left half is read; the first block of columns is multiplied panel by panel
  bool one_by_one = false;  ///< a panel is asked for when the one before it is there, and not all of them at once
  bool split_last = false;  ///< the last block of the result is written panel by panel
  int chunk = 256;          ///< rows of one product of the arrays
  int columns = 256;        ///< of a block
};

namespace detail {

/// The product as instructions. Both cores take a step before either takes the next, as they do in the chip.
class two_core_matmul {
 public:
  two_core_matmul(const product_shape& p, const two_core_options& o)
      : o_(o), rows_(static_cast<int>(p.m / 2)), inner_(p.k), blocks_(static_cast<int>(p.n / o.columns)) {
    cores_[1].number = 1;
    for (core& c : cores_) c.right.resize(at(blocks_), -1), c.written.resize(at(blocks_), -1);
    for (int panel = 0; panel < (o.one_by_one ? 1 : o.panels); ++panel) on_both([&](core& c) { read_left(c, -1); });
    on_both([&](core& c) { c.right[0] = read_right(-1); });
    if (blocks_ > 1) on_both([&](core& c) { c.right[1] = read_right(c.right[0]); });
    for (int panel = 0; panel < o.panels; ++panel) {
      if (o.one_by_one && panel + 1 < o.panels) on_both([&](core& c) { read_left(c, c.left.back()); });
      multiply(rows_ / o.panels, [&](core& c) { return std::array{c.left[at(panel)], c.right[0]}; });
    }
    on_both([&](core& c) { c.written[0] = write(c, rows_); });
    for (int block = 1; block < (o.split_last ? blocks_ - 1 : blocks_); ++block) {
      if (block + 1 < blocks_)
        on_both([&](core& c) { c.right[at(block + 1)] = read_right(c.right[at(block)], c.done); });
      multiply(rows_, [&](core& c) { return needed(c, block); });
      on_both([&](core& c) { c.written[at(block)] = write(c, rows_); });
    }
    for (int panel = 0; o.split_last && blocks_ > 1 && panel < o.panels; ++panel) {
      multiply(rows_ / o.panels, [&](core& c) { return needed(c, blocks_ - 1); });
      on_both([&](core& c) { write(c, rows_ / o.panels); });
    }
  }
  program made() && { return std::move(program_); }

 private:
  struct core {
    int number = 0;
    std::vector<event_id> left, right, written;  // copies, by panel and by block
    event_id done = -1;                          // the last product
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  template <class F>
  void on_both(const F& f) {
    for (core& c : cores_) {
      program_.at({c.number, "step"});
      f(c);
    }
  }
  void read_left(core& c, event_id after) {
    const double bytes = 2.0 * static_cast<double>(inner_) * rows_ / o_.panels;
    c.left.push_back(program_.transfer(memory::hbm, memory::vmem, bytes, {after, c.done}));
  }
  event_id read_right(event_id after, event_id done = -1) {
    const double bytes = 2.0 * static_cast<double>(inner_) * o_.columns;
    return program_.transfer(memory::hbm, memory::vmem, bytes, {after, done});
  }
  event_id write(core& c, int of_rows) {
    return program_.transfer(memory::vmem, memory::hbm, 4.0 * of_rows * o_.columns, {c.done});
  }
  /// A block needs its columns, and the buffer of the result of two blocks before.
  std::array<event_id, 2> needed(const core& c, int block) const {
    return {c.right[at(block)], block >= 2 ? c.written[at(block - 2)] : -1};
  }
  template <class Needs>
  void multiply(int of_rows, const Needs& needs) {
    const int chunk = std::min(o_.chunk, of_rows);
    for (int row = 0; row < of_rows; row += chunk)
      on_both([&](core& c) {
        const auto after = needs(c);
        const product_shape part{std::min(chunk, of_rows - row), inner_, o_.columns};
        c.done = program_.product(part, element::bf16, {after[0], after[1]});
      });
  }

  two_core_options o_;
  int rows_;  // of a core
  long long inner_;
  int blocks_;
  program program_;
  std::array<core, 2> cores_;
};

}  // namespace detail

/// A product bf16[m, k] x bf16[k, n] -> f32[m, n] on two cores that share HBM.
///
/// errors  tokamax::error unless the columns are whole blocks, and half of the rows are whole panels
/// source  ayaka14732/pallas-tpu-tutorial 0452c7e, chapter02/09_large_matmul: 2048^3 on both cores of a TPU v4
inline program two_core_matmul_program(const product_shape& p, const two_core_options& o = {}) {
  detail::check_sizes({1, 1}, p);
  if (o.panels < 1 || o.chunk < 1 || o.columns < 1)
    throw error("systolic two cores: panels, rows of a chunk, columns",
                std::to_string(o.panels) + ", " + std::to_string(o.chunk) + ", " + std::to_string(o.columns),
                "at least 1 of each");
  if (p.m % (2LL * o.panels) != 0 || p.n % o.columns != 0)
    throw error("systolic two cores: product", std::to_string(p.m) + " rows, " + std::to_string(p.n) + " columns",
                "two cores' rows in " + std::to_string(o.panels) + " panels, and blocks of " +
                    std::to_string(o.columns) + " columns");
  return detail::two_core_matmul(p, o).made();
}

}  // namespace tokamax::systolic_backend
