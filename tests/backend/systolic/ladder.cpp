// tests/backend/systolic/ladder.cpp: a product of 2048 x 2048 on both cores of a TPU v4, in five versions, beside its real times.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/simulate.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sys = tokamax::systolic_backend;

namespace {

/// Each core has half of the rows of the left matrix in VMEM. Blocks of columns of the right one and of the result go through
/// two buffers each.
struct version {
  int panels;       ///< in which the left half is read
  bool one_by_one;  ///< a panel is asked for when the one before it is there
  bool split_last;  ///< the last block of the result is written panel by panel
  int chunk;        ///< rows of a product
  double cycles;    ///< of the real chip
};
// ayaka14732/pallas-tpu-tutorial 0452c7e, chapter02/09_large_matmul: the cycle counter of core 0
constexpr version versions[] = {{1, false, false, 256, 85188},
                                {4, false, false, 256, 85171},
                                {4, true, false, 256, 82565},
                                {4, true, true, 256, 80662},
                                {4, true, true, 512, 78339}};

class ladder {
 public:
  explicit ladder(const version& v) : v_(v) {
    cores_[1].number = 1;
    for (int panel = 0; panel < (v.one_by_one ? 1 : v.panels); ++panel) on_both([&](core& c) { read_left(c, -1); });
    on_both([&](core& c) { c.right[0] = read_right(-1); });
    on_both([&](core& c) { c.right[1] = read_right(c.right[0]); });
    for (int panel = 0; panel < v.panels; ++panel) {
      if (v.one_by_one && panel + 1 < v.panels) on_both([&](core& c) { read_left(c, c.left.back()); });
      multiply(rows / v.panels, [&](core& c) { return std::array{c.left[at(panel)], c.right[0]}; });
    }
    on_both([&](core& c) { c.written[0] = write(c, rows); });
    for (int block = 1; block < (v.split_last ? blocks - 1 : blocks); ++block) {
      if (block + 1 < blocks)
        on_both([&](core& c) { c.right[at(block + 1)] = read_right(c.right[at(block)], c.done); });
      multiply(rows, [&](core& c) { return needed(c, block); });
      on_both([&](core& c) { c.written[at(block)] = write(c, rows); });
    }
    for (int panel = 0; v.split_last && panel < v.panels; ++panel) {
      multiply(rows / v.panels, [&](core& c) { return needed(c, blocks - 1); });
      on_both([&](core& c) { write(c, rows / v.panels); });
    }
  }
  double cycles() const { return sys::simulate(sys::v4, program_).cycles; }

 private:
  static constexpr int rows = 1024, inner = 2048, columns = 256, blocks = 8;
  struct core {
    int number = 0;
    std::vector<sys::event_id> left;
    std::array<sys::event_id, blocks> right{}, written{};
    sys::event_id done = -1;  ///< the last product
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// Both cores take a step before either takes the next, as they do in the chip.
  template <class F>
  void on_both(const F& f) {
    for (core& c : cores_) {
      program_.at({c.number, "step"});
      f(c);
    }
  }
  void read_left(core& c, sys::event_id after) {
    const double bytes = 2.0 * inner * rows / v_.panels;
    c.left.push_back(program_.transfer(sys::memory::hbm, sys::memory::vmem, bytes, {after, c.done}));
  }
  sys::event_id read_right(sys::event_id after, sys::event_id done = -1) {
    return program_.transfer(sys::memory::hbm, sys::memory::vmem, 2.0 * inner * columns, {after, done});
  }
  sys::event_id write(core& c, int of_rows) {
    return program_.transfer(sys::memory::vmem, sys::memory::hbm, 4.0 * of_rows * columns, {c.done});
  }
  /// A block needs its columns, and the buffer of the result of two blocks before.
  std::array<sys::event_id, 2> needed(const core& c, int block) const {
    return {c.right[at(block)], block >= 2 ? c.written[at(block - 2)] : -1};
  }
  template <class Needs>
  void multiply(int of_rows, const Needs& needs) {
    const int chunk = std::min(v_.chunk, of_rows);
    for (int row = 0; row < of_rows; row += chunk)
      on_both([&](core& c) {
        const auto after = needs(c);
        c.done = program_.product({chunk, inner, columns}, sys::element::bf16, {after[0], after[1]});
      });
  }

  version v_;
  sys::program program_;
  std::array<core, 2> cores_;
};

}  // namespace

TEST_CASE("five versions of a product come in the order of a real TPU v4, and near its times", "[systolic]") {
  double error = 0, before = 0;
  for (const version& v : versions) {
    const double cycles = ladder(v).cycles();
    CAPTURE(v.panels, v.one_by_one, v.split_last, v.chunk, cycles, v.cycles);
    if (v.panels > 1 && before > 0) CHECK(cycles <= before * (v.one_by_one ? 0.99 : 1.001));
    CHECK(std::abs(cycles / v.cycles - 1) < 0.06);
    error += std::abs(cycles / v.cycles - 1) / std::size(versions);
    before = cycles;
  }
  CHECK(error < 0.05);
}
