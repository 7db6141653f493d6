// tokamax/backend/systolic/report/sweep.hpp: all sizes of blocks that fit, and how fast each of them is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/matmul.hpp>      // simulate_matmul
#include <tokamax/backend/systolic/report/svg.hpp>  // svg

#include <fmt/format.h>  // format

#include <algorithm>  // min
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// One choice of blocks.
struct swept {
  product_shape block;
  double cycles = 0, utilisation = 0;
};

/// Simulates a product with all blocks whose sides are powers of two times 128 (of m: 16 and more), no longer than the
/// operands, and which fit into VMEM. Long grids are cut to about `most_steps` steps, and their cycles extended to the whole:
/// after the first steps all are alike.
inline std::vector<swept> sweep_blocks(const chip& c, const product_shape& p, const matmul_options& o = {},
                                       double most_steps = 512) {
  std::vector<swept> all;
  const auto sides = [](long long first, long long size) {
    std::vector<long long> s;
    for (long long side = first; side < 2 * size && side <= 4096; side *= 2) s.push_back(std::min(side, size));
    if (s.empty()) s.push_back(size);
    return s;
  };
  const long long dim = count_of(c.dim), lanes = std::max(dim, count_of(c.lanes));
  for (const long long m : sides(std::min(16LL, dim), p.m))
    for (const long long k : sides(lanes, p.k))
      for (const long long n : sides(lanes, p.n)) {
        const double padded =
            detail::padded_bytes(c, m, n, element::f32) +
            o.buffers * (detail::padded_bytes(c, m, k, o.type) + detail::padded_bytes(c, k, n, o.type) +
                         detail::padded_bytes(c, m, n, o.type));
        if (padded > c.vmem) continue;
        const long long rows = divide_up(p.m, m), inner = divide_up(p.k, k), columns = divide_up(p.n, n);
        const double steps = static_cast<double>(rows * inner * columns);
        // A shorter grid keeps whole sums over k: first fewer rows of blocks, then fewer columns.
        product_shape cut = p;
        const auto fit = [&](long long& size, long long side, long long count, double per) {
          const long long wanted = std::max(1LL, static_cast<long long>(most_steps / per));
          if (count > wanted) size = side * wanted;
        };
        fit(cut.m, m, rows, static_cast<double>(inner * columns));
        if (cut.m == m) fit(cut.n, n, columns, static_cast<double>(inner));
        const double cut_steps = static_cast<double>(divide_up(cut.m, m) * inner * divide_up(cut.n, n));
        matmul_options options = o;
        options.block = {m, k, n};
        const timeline t = simulate_matmul(c, cut, options);
        const double cycles = t.cycles * steps / cut_steps;
        all.push_back({options.block, cycles, p.macs() / (cycles * o.cores * c.peak_per_cycle(o.type) / 2)});
      }
  return all;
}

/// The fastest of a sweep.
///
/// errors  tokamax::error for a sweep without blocks: nothing fits
inline const swept& fastest(const std::vector<swept>& all) {
  if (all.empty())
    throw error(error_kind::resource, "systolic sweep: blocks that fit into VMEM", "none", "at least one");
  return *std::ranges::min_element(all, {}, &swept::cycles);
}

namespace detail {
/// The sides m and n of a sweep, and the best k of each pair.
struct sweep_table {
  std::vector<long long> ms, ns;
  std::vector<const swept*> best;  ///< [ms, ns]; null: no k fits

  explicit sweep_table(const std::vector<swept>& all) {
    const auto add = [](std::vector<long long>& sides, long long side) {
      if (std::ranges::find(sides, side) == sides.end()) sides.push_back(side);
    };
    for (const swept& s : all) add(ms, s.block.m), add(ns, s.block.n);
    std::ranges::sort(ms), std::ranges::sort(ns);
    best.resize(ms.size() * ns.size(), nullptr);
    for (const swept& s : all) {
      const auto row = static_cast<std::size_t>(std::ranges::find(ms, s.block.m) - ms.begin());
      const auto column = static_cast<std::size_t>(std::ranges::find(ns, s.block.n) - ns.begin());
      const swept*& b = best[row * ns.size() + column];
      if (b == nullptr || s.cycles < b->cycles) b = &s;
    }
  }
};
}  // namespace detail

/// The sweep as a table: sides m down, n across, and in each field % of the arrays at the best k; a dash where nothing fits.
inline std::string sweep_text(const std::vector<swept>& all) {
  const detail::sweep_table table(all);
  std::string s = fmt::format("{:>8}", "m \\ n");
  for (const long long n : table.ns) s += fmt::format("{:>7}", n);
  for (std::size_t row = 0; row < table.ms.size(); ++row) {
    s += fmt::format("\n{:>8}", table.ms[row]);
    for (std::size_t column = 0; column < table.ns.size(); ++column) {
      const swept* const best = table.best[row * table.ns.size() + column];
      s += best == nullptr ? fmt::format("{:>7}", "-") : fmt::format("{:>7.1f}", 100 * best->utilisation);
    }
  }
  return s + "\n";
}

/// The sweep as a picture: sides m down, n across, and in each field the best k. Red is 0 % of the arrays, blue is 100 %.
inline std::string sweep_svg(const std::vector<swept>& all, std::string_view name) {
  const detail::sweep_table table(all);
  const auto &ms = table.ms, &ns = table.ns;
  constexpr double left = 60, top = 50, width = 80, height = 32;
  svg picture(left + width * static_cast<double>(ns.size()) + 10, top + height * static_cast<double>(ms.size()) + 10);
  picture.words(10, 16, name, "start", 12);
  picture.words(10, 32, "block m down, n across; % of the arrays, at the best k");
  for (std::size_t row = 0; row < ms.size(); ++row) {
    const double y = top + height * static_cast<double>(row);
    picture.words(left - 6, y + height / 2 + 4, fmt::format("{}", ms[row]), "end");
    for (std::size_t column = 0; column < ns.size(); ++column) {
      const double x = left + width * static_cast<double>(column);
      if (row == 0) picture.words(x + width / 2, top - 4, fmt::format("{}", ns[column]), "middle");
      const swept* const best = table.best[row * ns.size() + column];
      if (best == nullptr) continue;  // does not fit
      const int cold = static_cast<int>(best->utilisation * 200);
      picture.rectangle(x, y, width - 1, height - 1,
                        fmt::format("rgb({},{},{})", 240 - cold, 150 + cold / 4, 60 + cold * 3 / 4));
      picture.words(x + width / 2, y + 14, fmt::format("{:.1f}", 100 * best->utilisation), "middle");
      picture.words(x + width / 2, y + 26, fmt::format("k {}", best->block.k), "middle", 8);
    }
  }
  return picture.text();
}

}  // namespace tokamax::systolic_backend
